// Local files attached to a question.

import { readFileSync, statSync } from "node:fs";
import { basename } from "node:path";
import type { FilePart, InputModality, NamedMedia } from "../../core/agent.ts";
import { INPUT_FILE_BYTES_MAX } from "../../core/limits.ts";
import { checkedMedium, checkVideo } from "../../core/media.ts";
import { fromHome } from "../../core/user-home.ts";

/** A typed path: quoted, with `~`, with escaped spaces. */
export function typedPath(text: string): string {
  const bare =
    /^(["'])(?<inside>.*)\1$/.exec(text.trim())?.groups?.["inside"] ?? text.trim().replaceAll("\\ ", " ");
  return fromHome(bare);
}

/** A file to attach. */
export interface Attachment {
  readonly kind: "file" | InputModality;
  readonly path: string;
}

/** An attached part; `param` is its name. */
export type Attached = FilePart | NamedMedia;

/** Reads a file as a part of a message. Throws an error with a message for the user. */
export function readAttachment({ kind, path }: Attachment): Attached {
  const stat = statSync(path, { throwIfNoEntry: false });
  if (stat === undefined) throw new Error(`no such file: ${path}`);
  if (!stat.isFile()) throw new Error(`${path} is not a file`);
  if (stat.size > INPUT_FILE_BYTES_MAX)
    throw new Error(`${path} has ${stat.size} bytes; at most ${INPUT_FILE_BYTES_MAX} are accepted`);
  const filename = basename(path);
  const bytes = readFileSync(path);
  const data = bytes.toString("base64");
  if (kind !== "file") {
    if (kind === "video") checkVideo(bytes, filename);
    else checkedMedium(bytes, kind, {}, filename);
    return { type: "media", modality: kind, source: { type: "inline", data }, param: filename };
  }
  return { type: "file", source: { type: "inline", data, filename }, param: filename };
}
