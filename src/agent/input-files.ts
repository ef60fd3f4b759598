// Files in messages: each is stored and replaced by a marker; a system text lists the files with previews. The model never
// gets base64.

import { createHash } from "node:crypto";
import type { FilePart } from "../core/agent.ts";
import { defined } from "../core/defined.ts";
import { ServiceError } from "../core/error.ts";
import type { Files, NewFile, StoredFile } from "../core/files.ts";
import { fileMarker, hasFile, inputFileName } from "../core/input-file.ts";
import { INPUT_FILE_BYTES_MAX, INPUT_FILES_MAX } from "../core/limits.ts";
import type { ReadVideo } from "../core/video.ts";
import { REQUEST_PREVIEW_CHARS_MAX } from "./limits.ts";
import type { ContentPart, Message } from "../core/message.ts";
import { decodeInline, type FetchFile, fetched, unknownFile } from "./source-bytes.ts";

export interface InputFilesDeps {
  readonly files: Files;
  readonly fetchFile: FetchFile;
  readonly readVideo: ReadVideo;
}

/** Messages whose files are replaced by markers. */
export interface StoredInputs {
  readonly messages: readonly Message[];
  /** Input files of the session and of the request, each once, oldest first. */
  readonly files: readonly StoredFile[];
}

/**
 * Stores the files in messages and adds them to the session. Throws `file_not_found` for an unknown id,
 * `invalid_request` for invalid base64 and failed fetches, `payload_too_large`; the message names the part.
 */
export async function storeInputFiles(
  deps: InputFilesDeps,
  messages: readonly Message<ContentPart | FilePart>[],
  sessionId: string | undefined,
  signal: AbortSignal,
): Promise<StoredInputs> {
  refuseTooMany(messages);
  const stored = new Map<string, StoredFile>();
  for (const file of sessionId === undefined ? [] : deps.files.list(sessionId)) {
    if (file.purpose !== "agent_output") stored.set(file.id, file);
  }
  const taken: Message[] = [];
  for (const message of messages) {
    const content: ContentPart[] = [];
    for (const part of message.content) {
      if (part.type === "file") {
        const file = await storeInputFile(deps, part, sessionId, signal);
        stored.set(file.id, file);
        content.push(fileMarker(file.name));
      } else content.push(part);
    }
    taken.push({ ...message, content });
  }
  return { messages: taken, files: [...stored.values()] };
}

function refuseTooMany(messages: readonly Message<ContentPart | FilePart>[]): void {
  const parts = messages
    .filter(hasFile)
    .flatMap(({ content }) => content.filter(({ type }) => type === "file"));
  if (parts.length <= INPUT_FILES_MAX) return;
  const message = `messages must have at most ${INPUT_FILES_MAX} files; got ${parts.length}`;
  throw new ServiceError("invalid_request", message, { param: "messages" });
}

async function storeInputFile(
  deps: InputFilesDeps,
  part: FilePart,
  sessionId: string | undefined,
  signal: AbortSignal,
): Promise<StoredFile> {
  const { source, param } = part;
  if (source.type === "stored") return storedFile(deps.files, source.id, param, sessionId);
  const name = inputFileName(part, deps.files);
  const bounds = { param, bytesMax: INPUT_FILE_BYTES_MAX };
  const { mimeType, pieces } =
    source.type === "inline"
      ? decodeInline(source.data, bounds)
      : await fetched(deps.fetchFile, source.url, bounds, signal);
  const file: NewFile = {
    ...(sessionId === undefined ? {} : { id: repeatableId(sessionId, name, pieces), sessionId }),
    name,
    ...defined({ mimeType }),
    purpose: "user_data",
    source: { tool: "input_file", round: 0, turn: 0 },
  };
  return deps.files.add(file, pieces);
}

function storedFile(files: Files, id: string, param: string, sessionId: string | undefined): StoredFile {
  const file = files.get(id);
  if (file === undefined) throw unknownFile(id, param);
  if (sessionId !== undefined) files.join(id, sessionId);
  return file;
}

/** Content-derived id: clients resend a file with every turn, and a session stores it once. */
function repeatableId(sessionId: string, name: string, pieces: readonly Uint8Array[]): string {
  const hash = createHash("sha256").update(JSON.stringify([sessionId, name]));
  for (const piece of pieces) hash.update(piece);
  return `file-${hash.digest("hex").slice(0, 32)}`;
}

/** Tools that can read the files. */
export interface FileReaders {
  /** File names in the working directory of Python or the shell, by id. */
  readonly mounted?: ReadonlyMap<string, string>;
  /** Name of the tool that reads a stored file by id. */
  readonly readTool?: string;
}

/** System text that lists the files; undefined without files. */
export function filesText(
  files: readonly StoredFile[],
  { mounted, readTool }: FileReaders = {},
): string | undefined {
  if (files.length === 0) return undefined;
  const lines = [
    files.length === 1
      ? "The user has attached a file. Where a message says [File: …], it was attached there."
      : `The user has attached ${files.length} files. Where a message says [File: …], one was attached there.`,
  ];
  if (mounted !== undefined && mounted.size > 0) {
    lines.push(
      "Code and shell commands find them in their working directory. Use these paths; ids are not paths:",
    );
    for (const { id, name } of files) {
      const path = mounted.get(id);
      if (path !== undefined) lines.push(`- ${oneLine(name)} -> ./${path}`);
    }
  }
  if (readTool !== undefined) lines.push(`${readTool} reads them by id.`);
  let charactersLeft = REQUEST_PREVIEW_CHARS_MAX;
  for (const file of files) {
    const { text, characters } = describe(file, charactersLeft, readTool);
    lines.push("", text);
    charactersLeft -= characters;
  }
  return lines.join("\n");
}

/** One file: name, id, type, size, and a preview within the limit. */
function describe(file: StoredFile, charactersMax: number, readTool: string | undefined) {
  const { id, name, mimeType, bytes, isText, preview = "" } = file;
  const head = `${oneLine(name)} (${id}, ${mimeType}, ${bytes} bytes)`;
  if (!isText) return { text: `${head}: not text, so it is not shown here.`, characters: 0 };
  const all = Array.from(preview);
  const shown = all.slice(0, charactersMax);
  const isCut = file.isPreviewWhole !== true || shown.length < all.length;
  if (shown.length === 0 && isCut)
    return { text: `${head}: text, too long to be shown here.`, characters: 0 };
  const more =
    readTool === undefined ? "the rest is not shown" : `go on with ${readTool}, start ${shown.length}`;
  const end = isCut ? `\n(cut after ${shown.length} characters; ${more})` : "";
  return { text: `${head}:\n${shown.join("")}${end}`, characters: shown.length };
}

function oneLine(name: string): string {
  return name.replaceAll(/\s+/g, " ");
}
