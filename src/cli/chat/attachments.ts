// Files of this machine that a question brings along.

import { readFileSync, statSync } from "node:fs";
import { homedir } from "node:os";
import { basename, join } from "node:path";
import type { FilePart } from "../../core/agent.ts";
import { INPUT_FILE_BYTES_MAX } from "../../core/limits.ts";

/** A path as people type it: in quotation marks, with `~`, with spaces that were escaped. */
export function typedPath(text: string): string {
  const bare =
    /^(["'])(?<inside>.*)\1$/.exec(text.trim())?.groups?.["inside"] ?? text.trim().replaceAll("\\ ", " ");
  return bare === "~" || bare.startsWith("~/") ? join(homedir(), bare.slice(1)) : bare;
}

/** Reads a file as a part of a message. Throws a sentence for people. */
export function readAttachment(path: string): FilePart {
  const stat = statSync(path, { throwIfNoEntry: false });
  if (stat === undefined) throw new Error(`there is no file ${path}`);
  if (!stat.isFile()) throw new Error(`${path} is not a file`);
  if (stat.size > INPUT_FILE_BYTES_MAX)
    throw new Error(`${path} has ${stat.size} bytes; at most ${INPUT_FILE_BYTES_MAX} can be attached`);
  const filename = basename(path);
  const data = readFileSync(path).toString("base64");
  return { type: "file", source: { type: "inline", data, filename }, param: filename };
}
