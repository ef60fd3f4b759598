// Models that a first visit proposes: known to work well, by the memory that they need. Pure; the hub is asked when one is chosen.

import { t } from "../texts/texts.ts";

const GIB = 1024 ** 3;

export interface Proposal {
  readonly source: string;
  readonly name: string;
  readonly what: string;
  /** Download, and memory with a context of 8,192 tokens, bytes. */
  readonly download: number;
  readonly memory: number;
}

const proposal = (source: string, name: string, download: number, what: string): Proposal => ({
  source,
  name,
  what,
  download: download * GIB,
  memory: (download * 1.1 + 1) * GIB,
});

/** From small to large. */
const known = (): readonly Proposal[] => [
  proposal("Qwen/Qwen3-0.6B-GGUF:Q8_0", "Qwen3 0.6B", 0.6, t.proposals.tiny),
  proposal("Qwen/Qwen3-1.7B-GGUF:Q8_0", "Qwen3 1.7B", 1.7, t.proposals.small),
  proposal("ggml-org/gemma-3-4b-it-GGUF:Q4_K_M", "Gemma 3 4B", 3.1, t.proposals.languages),
  proposal("Qwen/Qwen3-4B-GGUF:Q4_K_M", "Qwen3 4B", 2.3, t.proposals.capable),
  proposal("Qwen/Qwen3-8B-GGUF:Q4_K_M", "Qwen3 8B", 4.7, t.proposals.allRounder),
  proposal("ggml-org/gemma-3-12b-it-GGUF:Q4_K_M", "Gemma 3 12B", 7.6, t.proposals.writes),
  proposal("ggml-org/gpt-oss-20b-GGUF", "gpt-oss 20B", 11.3, t.proposals.reasons),
  proposal("Qwen/Qwen3-30B-A3B-GGUF:Q4_K_M", "Qwen3 30B-A3B", 17.3, t.proposals.mixture),
  proposal("Qwen/Qwen3-32B-GGUF:Q4_K_M", "Qwen3 32B", 18.4, t.proposals.largest),
];

/** Three that fit: a quick one, one in the middle, the largest. Fewer, if fewer fit. */
export function proposalsFor(memoryBytes: number, diskBytes: number): readonly Proposal[] {
  const fitting = known().filter(({ memory, download }) => memory <= memoryBytes && download <= diskBytes);
  const last = fitting.length - 1;
  const at = [Math.min(1, last), Math.ceil((Math.min(1, last) + last) / 2), last];
  return [...new Set(at)].flatMap((index) => fitting[index] ?? []);
}
