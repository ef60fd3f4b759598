// Models that a first visit proposes: known to work well, by the memory that they need. Pure; the hub is asked when one is chosen.

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
const KNOWN: readonly Proposal[] = [
  proposal("Qwen/Qwen3-0.6B-GGUF:Q8_0", "Qwen3 0.6B", 0.6, "Tiny: for trying things out"),
  proposal("Qwen/Qwen3-1.7B-GGUF:Q8_0", "Qwen3 1.7B", 1.7, "Small and quick, can reason"),
  proposal("ggml-org/gemma-3-4b-it-GGUF:Q4_K_M", "Gemma 3 4B", 3.1, "Good in many languages, sees images"),
  proposal("Qwen/Qwen3-4B-GGUF:Q4_K_M", "Qwen3 4B", 2.3, "Capable for its size, reasons, calls tools"),
  proposal("Qwen/Qwen3-8B-GGUF:Q4_K_M", "Qwen3 8B", 4.7, "An all-rounder: reasons, calls tools"),
  proposal("ggml-org/gemma-3-12b-it-GGUF:Q4_K_M", "Gemma 3 12B", 7.6, "Writes well, sees images"),
  proposal("ggml-org/gpt-oss-20b-GGUF", "gpt-oss 20B", 11.3, "Strong at reasoning, quick for its size"),
  proposal("Qwen/Qwen3-30B-A3B-GGUF:Q4_K_M", "Qwen3 30B-A3B", 17.3, "Large, yet quick: a mixture of experts"),
  proposal("Qwen/Qwen3-32B-GGUF:Q4_K_M", "Qwen3 32B", 18.4, "The most capable here, slow without a card"),
];

/** Three that fit: a quick one, one in the middle, the largest. Fewer, if fewer fit. */
export function proposalsFor(memoryBytes: number, diskBytes: number): readonly Proposal[] {
  const fitting = KNOWN.filter(({ memory, download }) => memory <= memoryBytes && download <= diskBytes);
  const last = fitting.length - 1;
  const at = [Math.min(1, last), Math.ceil((Math.min(1, last) + last) / 2), last];
  return [...new Set(at)].flatMap((index) => fitting[index] ?? []);
}
