// Files in messages: each is stored and replaced by a marker; a system text lists the files with previews. The model never
// gets base64.

import type { CutFile, FilePart } from "../core/agent.ts";
import type { Caller } from "../core/caller.ts";
import type { Converters } from "../core/converters.ts";
import { defined } from "../core/defined.ts";
import { ServiceError } from "../core/error.ts";
import type { Files, NewFile, StoredFile } from "../core/files.ts";
import { fileMarker, hasFile, hasWholeFile, inputFileName, wholeFile } from "../core/input-file.ts";
import { INPUT_FILE_BYTES_MAX, INPUT_FILES_MAX } from "../core/limits.ts";
import type { ReadVideo } from "../core/video.ts";
import { REQUEST_PREVIEW_CHARS_MAX } from "./limits.ts";
import { type ContentPart, type Message, messageText } from "../core/message.ts";
import { documentParts, type PaintPages, type ReadDocument } from "./input-documents.ts";
import { decodeInline, type FetchFile, fetched, joined, repeatableId, unknownFile } from "./source-bytes.ts";

export interface InputFilesDeps {
  readonly caller: Caller;
  /** The caller's. */
  readonly files: Files;
  readonly fetchFile: FetchFile;
  readonly readVideo: ReadVideo;
  readonly converters: Converters;
}

/** Messages whose files are replaced by markers. */
export interface StoredInputs {
  readonly messages: readonly Message[];
  /** Input files of the session and of the request, each once, oldest first. */
  readonly files: readonly StoredFile[];
  /** Ids of files whose whole text is in the messages. */
  readonly whole: ReadonlySet<string>;
  /** Documents that the model does not have whole. */
  readonly cut: readonly CutFile[];
}

/**
 * Stores the files in messages and adds them to the session. Throws `file_not_found` for an unknown id,
 * `invalid_request` for invalid base64 and failed fetches, `payload_too_large`; the message names the part.
 */
export async function storeInputFiles(
  deps: InputFilesDeps & { readonly paint?: PaintPages | undefined },
  messages: readonly Message<ContentPart | FilePart>[],
  sessionId: string | undefined,
  signal: AbortSignal,
): Promise<StoredInputs> {
  refuseTooMany(messages);
  const stored = new Map<string, StoredFile>();
  for (const file of sessionId === undefined ? [] : deps.files.list(sessionId)) {
    if (file.purpose !== "agent_output") stored.set(file.id, file);
  }
  const earlier = [...stored.values()];
  const whole = new Set<string>();
  const cut: CutFile[] = [];
  const taken: Message[] = [];
  for (const message of messages) {
    const content: ContentPart[] = [];
    for (const part of message.content) {
      const read = part.type === "file" ? await readInputFile(deps, part, sessionId, signal) : undefined;
      read?.files.forEach((file) => stored.set(file.id, file));
      read?.whole.forEach((id) => whole.add(id));
      cut.push(...(read?.cut ?? []));
      if (read !== undefined) content.push(...read.content);
      else if (part.type !== "file") content.push(part);
    }
    taken.push({ ...message, content });
  }
  // A session's messages may hold files of earlier turns whole.
  const texts = earlier.length === 0 ? [] : taken.map(messageText);
  for (const { id, name } of earlier) if (texts.some((text) => hasWholeFile(text, name))) whole.add(id);
  return { messages: taken, files: [...stored.values()], whole, cut };
}

/** Stores a file, and reads it where it is a document or wanted whole. */
async function readInputFile(
  deps: InputFilesDeps & { readonly paint?: PaintPages | undefined },
  part: FilePart,
  sessionId: string | undefined,
  signal: AbortSignal,
): Promise<ReadDocument> {
  const { file, pieces } = await storeInputFile(deps, part, sessionId, signal);
  const bytes = (): Promise<Uint8Array<ArrayBuffer> | undefined> => bytesOf(deps.files, file, pieces);
  if (part.text === undefined) {
    const read = await documentParts(deps, { file, bytes, sessionId, part }, signal);
    if (read !== undefined) return { ...read, files: [file, ...read.files] };
  }
  const text = part.isWhole === true && file.isText ? decoded(await bytes()) : undefined;
  const content = [text === undefined ? fileMarker(file.name) : wholeFile(file.name, text)];
  return { content, files: [file], whole: text === undefined ? [] : [file.id], cut: [] };
}

/** The content of a file; undefined if its body expired meanwhile. */
async function bytesOf(
  files: Files,
  { id }: StoredFile,
  pieces?: Pieces,
): Promise<Uint8Array<ArrayBuffer> | undefined> {
  if (pieces !== undefined) return joined(pieces);
  return files
    .body(id)
    ?.bytes()
    .catch(() => undefined);
}

function decoded(bytes: Uint8Array | undefined): string | undefined {
  return bytes === undefined ? undefined : new TextDecoder().decode(bytes);
}

function refuseTooMany(messages: readonly Message<ContentPart | FilePart>[]): void {
  const parts = messages
    .filter(hasFile)
    .flatMap(({ content }) => content.filter(({ type }) => type === "file"));
  if (parts.length <= INPUT_FILES_MAX) return;
  const message = `messages must have at most ${INPUT_FILES_MAX} files; got ${parts.length}`;
  throw new ServiceError("invalid_request", message, { param: "messages" });
}

type Pieces = readonly Uint8Array<ArrayBuffer>[];

async function storeInputFile(
  deps: InputFilesDeps,
  part: FilePart,
  sessionId: string | undefined,
  signal: AbortSignal,
): Promise<{ readonly file: StoredFile; readonly pieces?: Pieces }> {
  const { source, param } = part;
  if (source.type === "stored") return { file: storedFile(deps.files, source.id, param, sessionId) };
  const name = inputFileName(part, deps.files);
  const bounds = { param, bytesMax: INPUT_FILE_BYTES_MAX };
  const { mimeType, pieces } =
    source.type === "inline"
      ? decodeInline(source.data, bounds)
      : await fetched(deps.fetchFile, source.url, bounds, signal);
  const file: NewFile = {
    id: repeatableId(sessionId ?? deps.caller, name, pieces),
    ...defined({ sessionId }),
    name,
    ...defined({ mimeType }),
    purpose: "user_data",
    source: { tool: "input_file", round: 0, turn: 0 },
  };
  return { file: await deps.files.add(file, pieces), pieces };
}

function storedFile(files: Files, id: string, param: string, sessionId: string | undefined): StoredFile {
  const file = files.get(id);
  if (file === undefined) throw unknownFile(id, param);
  if (sessionId !== undefined) files.join(id, sessionId);
  return file;
}

/** Tools that can read the files. */
export interface FileReaders {
  /** File names in the working directory of Python or the shell, by id. */
  readonly mounted?: ReadonlyMap<string, string>;
  /** Name of the tool that reads a stored file by id. */
  readonly readTool?: string;
  /** Ids of files that are in the messages. */
  readonly whole?: ReadonlySet<string>;
}

/** What the model reads of files beside the messages. */
export interface FilesText {
  /** System text; undefined if there is nothing to tell. */
  readonly text: string | undefined;
  /** Texts of which it has a part. */
  readonly cut: readonly CutFile[];
}

/** System text that lists the files, with previews of those that are not in the messages. */
export function filesText(
  all: readonly StoredFile[],
  { mounted, readTool, whole = new Set() }: FileReaders = {},
): FilesText {
  const files = mounted === undefined ? all.filter(({ id }) => !whole.has(id)) : all;
  if (files.length === 0) return { text: undefined, cut: [] };
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
  const cut: CutFile[] = [];
  for (const file of files.filter(({ id }) => !whole.has(id))) {
    const { text, characters, isCut } = describe(file, charactersLeft, readTool);
    lines.push("", text);
    charactersLeft -= characters;
    if (isCut) cut.push({ name: file.name, shown: characters, bytes: file.bytes });
  }
  return { text: lines.join("\n"), cut };
}

/** One file: name, id, type, size, and a preview within the limit. */
function describe(file: StoredFile, charactersMax: number, readTool: string | undefined) {
  const { id, name, mimeType, bytes, isText, preview = "" } = file;
  // An id is of use to the tool alone.
  const facts = [...(readTool === undefined ? [] : [id]), mimeType, `${bytes} bytes`];
  const head = `${oneLine(name)} (${facts.join(", ")})`;
  if (!isText) return { text: `${head}: not text, so it is not shown here.`, characters: 0, isCut: false };
  const all = Array.from(preview);
  const shown = all.slice(0, charactersMax);
  const isCut = file.isPreviewWhole !== true || shown.length < all.length;
  if (shown.length === 0 && isCut)
    return { text: `${head}: text, too long to be shown here.`, characters: 0, isCut };
  const more =
    readTool === undefined ? "the rest is not shown" : `go on with ${readTool}, start ${shown.length}`;
  const end = isCut ? `\n(cut after ${shown.length} characters; ${more})` : "";
  return { text: `${head}:\n${shown.join("")}${end}`, characters: shown.length, isCut };
}

function oneLine(name: string): string {
  return name.replaceAll(/\s+/g, " ");
}
