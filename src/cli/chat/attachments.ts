// Local files attached to a question.

import { readFileSync, statSync } from "node:fs";
import { basename } from "node:path";
import type { FilePart, InputModality, InputPart, NamedMedia } from "../../core/agent.ts";
import { defined } from "../../core/defined.ts";
import { INPUT_FILE_BYTES_MAX } from "../../core/limits.ts";
import { checkedMedium, checkedVideo } from "../../core/media.ts";
import { ownCommand } from "../../core/own-command.ts";
import { fromHome } from "../../core/user-home.ts";
import { DOCUMENT_PROBLEMS, documentKind, type ReadReply } from "../../reader/documents/reading.ts";
import { READER_WORD, type ReadJob } from "../../reader/protocol.ts";
import { DOCUMENT_MS } from "./limits.ts";

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
    if (kind === "video") checkedVideo(bytes, filename);
    else checkedMedium(bytes, kind, {}, filename);
    return { type: "media", modality: kind, source: { type: "inline", data }, param: filename };
  }
  return filePart(filename, data);
}

/** A file as a part of a message, a document with its text. Throws an error with a message for the user. */
export function filePart(filename: string, data: string): FilePart {
  const text = documentText(filename, data);
  return { type: "file", source: { type: "inline", data, filename }, param: filename, ...defined({ text }) };
}

/** Texts in the place of documents, for models that have no tools to open them. With tools the server reads them, too. */
export function withDocumentTexts<T extends { readonly content: readonly InputPart[] }>(
  message: T,
  hasTools: boolean,
): T {
  const content = message.content.map((part): InputPart => {
    if (part.type !== "file" || part.text === undefined) return part;
    const { text, ...file } = part;
    return hasTools ? file : { type: "text", text: `File ${part.param}:\n\n${text}\n\n` };
  });
  return { ...message, content };
}

/** Text of a PDF or an office document, read in a process of its own; undefined for other files. */
function documentText(filename: string, data: string): string | undefined {
  const kind = documentKind(filename);
  if (kind === undefined || kind === "html") return undefined; // HTML is text
  const job: ReadJob = { task: "document", kind, data };
  const { stdout, success, exitedDueToTimeout } = Bun.spawnSync([...ownCommand(), READER_WORD], {
    stdin: Buffer.from(JSON.stringify(job)),
    stderr: "ignore",
    env: {}, // documents come from third parties
    timeout: DOCUMENT_MS,
    killSignal: "SIGKILL",
  });
  const failure: ReadReply = { problem: exitedDueToTimeout === true ? "tooSlow" : "damaged" };
  const reply = success ? (JSON.parse(stdout.toString()) as ReadReply) : failure; // from svc's own process
  if ("text" in reply) return reply.text;
  throw new Error(`${filename} could not be read: ${DOCUMENT_PROBLEMS[reply.problem]}`);
}
