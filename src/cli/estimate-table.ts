// What `svc estimate` prints: the models of a repository as a table.

import type { HubModelChoice, HubRepositoryDetails } from "../core/hub.ts";
import { sizeText } from "../core/size-text.ts";
import { terminalText } from "../core/visible-text.ts";
import { columns } from "./table.ts";

/** Contexts that have a column. */
const SHOWN = [4096, 8192, 32_768] as const;

const FITS: Readonly<Record<HubModelChoice["fit"], string>> = {
  fits: "fits",
  tight: "tight",
  too_large: "too large",
  unknown: "",
};

/** A repository's models, what they were computed from, and which one to use. */
export function estimateTable(details: HubRepositoryDetails): string {
  const { models, estimate, commit } = details;
  const title = terminalText(`${details.id}@${commit.slice(0, 12)}`);
  if (models.length === 0) return `${title}: no GGUF model.\n`;
  const head = [
    "",
    "TYPE",
    "SIZE",
    "QUALITY",
    "LOADED",
    "4K",
    "8K",
    "32K",
    "MAX",
    "CONTEXT",
    "LAYERS ON CARDS",
    "TOKENS/S",
    "",
  ];
  const rows = models.map((one) => [
    one.is_default ? "*" : "",
    one.quantization ?? one.files[0] ?? "",
    sizeText(one.size_bytes),
    one.quality,
    memoryText(one.loaded_bytes ?? undefined),
    ...SHOWN.map((tokens) => memoryText(one.memory.find((at) => at.context_tokens === tokens)?.memory_bytes)),
    memoryText(one.memory.at(-1)?.memory_bytes),
    one.context_fits === null ? "?" : String(one.context_fits),
    one.device_layers === null ? "?" : `${one.device_layers} of ${one.layers ?? "?"}`,
    speedText(one),
    [FITS[one.fit], one.downloaded ? "downloaded" : ""].filter(Boolean).join(", "),
  ]);
  const table = columns(
    [head, ...rows],
    (column) => (column > 1 && column < 3) || (column > 3 && column < 12),
  );
  return `${title}\n\n${table}\n${notes(details).join("\n")}\n${verdict(estimate)}`;
}

/** What the columns mean, and what they were computed from. */
function notes({ id, models, machine, estimate }: HubRepositoryDetails): readonly string[] {
  const most = models[0]?.memory.at(-1)?.context_tokens;
  const mostText = most === undefined ? "" : ` and ${most.toLocaleString("en")}`;
  const speed = estimate.memory_bytes_per_second;
  const speedNote = speed === null ? "" : ` Main memory reads ${(speed / 1e9).toPrecision(3)} GB/s.`;
  const cards = estimate.devices.map(({ name, memory_bytes: bytes }) => `${name} ${sizeText(bytes)}`);
  const free = [sizeText(machine.memory_free_bytes), ...cards].join(", ");
  return [
    `LOADED: memory right after a load. 4K to MAX: at most, with all of a cache of 4,096, 8,192, 32,768${mostText} tokens. CONTEXT: the longest that fits. *: what ${terminalText(id)} alone means.`,
    `Free: ${free}; disk ${sizeText(machine.disk_free_bytes)}.${speedNote}`,
  ];
}

function verdict({ recommended, reason }: HubRepositoryDetails["estimate"]): string {
  return terminalText(
    recommended === null ? `No recommendation: ${reason}.\n` : `Recommended: ${recommended}: ${reason}.\n`,
  );
}

function memoryText(bytes: number | undefined): string {
  return bytes === undefined ? "" : sizeText(bytes);
}

/** The expected speed with half its range. */
function speedText({ tokens_per_second: speed }: HubModelChoice): string {
  return speed === null ? "?" : `${speed.expected} ± ${Number((speed.expected - speed.low).toPrecision(2))}`;
}
