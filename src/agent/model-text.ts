// What the model is told of a call: the tool's own text, then what it cannot see of it, then the files it left behind.

import type { FileObject } from "../core/agent.ts";
import type { ToolOutcome } from "./tool.ts";

/** The text of the tool message. No model of this build sees images, so it is told that the user does. */
export function modelText({ text, images = [] }: ToolOutcome, files: readonly FileObject[]): string {
  const parts = [text];
  if (images.length > 0) {
    const what = images.length === 1 ? "1 image was" : `${images.length} images were`;
    parts.push(`[${what} produced and shown to the user. You cannot see images.]`);
  }
  if (files.length > 0) parts.push(["Files:", ...files.map(fileLines)].join("\n"));
  return parts.join("\n");
}

function fileLines(file: FileObject): string {
  const { id, name, format, bytes, code, message, preview } = file;
  if (code !== undefined) return `- ${name}: [${code}] ${message ?? ""}`.trimEnd();
  const facts = [...(format === undefined ? [] : [format]), `${bytes} bytes`, id].join(", ");
  if (preview === undefined) return `- ${name} (${facts}): the user can download it`;
  const isWhole = new TextEncoder().encode(preview).byteLength >= bytes;
  const hint = isWhole ? "the whole text" : `the beginning; read the rest with svc_read_file`;
  return `- ${name} (${facts}): ${hint}:\n${preview}`;
}
