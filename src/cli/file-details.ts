// A model's file as text for a terminal.

import type { TensorGroup } from "../core/gguf-facts.ts";
import type { ModelFileFacts } from "../core/model-info.ts";
import { terminalText, visibleLine } from "../core/visible-text.ts";
import { columns } from "./table.ts";
import { sizeText } from "../core/size-text.ts";

/** What is shown for the chat template of a model that has none. */
export const NO_TEMPLATE = "none: probably a base model, which continues text";

/** What is shown of a file. */
export type FilePart = "card" | "metadata" | "template";

/** A model's file. */
export interface ShownFile {
  readonly path: string;
  readonly parts: number;
  readonly name: string | undefined;
  readonly facts: ModelFileFacts;
  readonly tensors: readonly TensorGroup[];
  /** Lines `key = value`. */
  readonly metadata: readonly string[];
  readonly template: string | undefined;
}

/** The summary with tensors by type, all metadata, or the chat template. */
export function fileText(file: ShownFile, part: FilePart): string {
  if (part === "metadata") return terminalText(`${file.metadata.join("\n")}\n`);
  if (part === "template")
    return terminalText(`${(file.template ?? "The file has no chat template.").trimEnd()}\n`);
  const { facts } = file;
  const rows: readonly (readonly [string, string | undefined])[] = [
    ["file", file.parts > 1 ? `${file.path} and ${file.parts - 1} more parts` : file.path],
    ["model", shortened(file.name)],
    ["family", shortened(facts.architecture)],
    ["parameters", facts.parameters.toLocaleString("en")],
    ["quantization", facts.quantization],
    ["trained for", facts.contextTokens === undefined ? undefined : `${facts.contextTokens} tokens`],
    ["licence", shortened(facts.license)],
    ["size on disk", sizeText(facts.sizeBytes)],
    ["in memory", `about ${sizeText(facts.memoryBytes)} at most`],
    [
      "chat template",
      file.template === undefined ? NO_TEMPLATE : `${file.template.length} characters (--template)`,
    ],
    ["metadata", `${file.metadata.length} keys (--metadata)`],
  ];
  const known = rows.flatMap(([key, value]) => (value === undefined ? [] : [[key, value]]));
  const tensors = file.tensors.map(({ type, count, bytes }) => [type, String(count), sizeText(bytes)]);
  return `${columns(known)}\n${columns([["TENSORS", "COUNT", "SIZE"], ...tensors], (column) => column > 0)}`;
}

function shortened(text: string | undefined): string | undefined {
  return text === undefined ? undefined : visibleLine(text);
}
