// Downloads one content of the hub into a file: resumes an earlier attempt, verifies the hash, and renames the file when it
// is complete. @huggingface/hub's own download starts over each time and verifies nothing.
// One connection a file, no chunk protocol. A lock expires 15 s after its process was killed. A cached file is used without network; only
// `svc pull` looks for a newer one.

import { createHash, type Hash } from "node:crypto";
import { constants } from "node:fs";
import { type FileHandle, mkdir, open, rename } from "node:fs/promises";
import { dirname } from "node:path";
import { reasonOf } from "../core/reason.ts";
import { pause } from "../core/with-abort.ts";
import { type ContentRange, getContent, type OpenContent, retryAfterMs, validatorOf } from "./api.ts";
import {
  DOWNLOAD_PROGRESS_BYTES,
  DOWNLOAD_RETRY_MS,
  DOWNLOAD_RETRY_MS_MAX,
  DOWNLOAD_STALL_MS,
  DOWNLOAD_TRIES,
  RETRY_AFTER_MS_MAX,
} from "./limits.ts";
import { HubError } from "./error.ts";

/** A content to download. */
export interface Download {
  readonly url: string;
  /** Sent to the origin of `url` only; other origins get signed addresses. */
  readonly token: string | undefined;
  /** Opens the URL in another way; absent: plainly. */
  readonly open?: OpenContent | undefined;
  readonly bytes: number;
  /** SHA-256 of the content, or SHA-1 as git computes it; in hexadecimal; empty where it is unknown. */
  readonly hash: string;
  /** Names the server in errors; absent: the hub. */
  readonly server?: string;
  /** Tells this version of a content without a hash from another one, as `validatorOf` reads it. */
  readonly version?: string | undefined;
  /** Its final path. The incomplete file is beside it, with a suffix. */
  readonly file: string;
}

export interface DownloadOptions {
  /** Bytes of the file so far; decreases when an attempt starts over. */
  readonly onProgress: (bytes: number) => void;
  /** The error of a rejected request. */
  readonly refusal: (status: number) => HubError;
  readonly signal?: AbortSignal | undefined;
  /** First delay after a failure, milliseconds. */
  readonly retryMs?: number | undefined;
}

/** The content has changed since the download was planned. */
export class ContentChanged extends HubError {
  constructor() {
    super("the file has changed during its download. Start the download again.");
  }
}

/** A failure that a retry may overcome. */
class Interrupted extends Error {
  /** Delay that the server asks for, milliseconds. */
  afterMs: number | undefined;
}

/** Bytes per read while an earlier attempt is hashed. */
const REREAD_BYTES = 1 << 20;

/** Resolves when the file is complete. Throws HubError, or the signal's reason; the bytes so far are kept. */
export async function download(what: Download, options: DownloadOptions): Promise<void> {
  await mkdir(dirname(what.file), { recursive: true });
  const file = await open(partialPath(what.file), constants.O_RDWR | constants.O_CREAT, 0o600);
  try {
    await file.chmod(0o600); // until it is verified, its user alone reads it
    await tryUntilComplete(what, options, file);
    await file.chmod(0o666 & ~process.umask());
    await file.sync();
  } finally {
    await file.close();
  }
  await rename(partialPath(what.file), what.file);
}

/** Path of the incomplete file of a content. */
export function partialPath(file: string): string {
  return `${file}.svc-partial`;
}

async function tryUntilComplete(what: Download, options: DownloadOptions, file: FileHandle): Promise<void> {
  const firstPause = options.retryMs ?? DOWNLOAD_RETRY_MS;
  for (let failures = 0, pauseMs = firstPause; ;) {
    const before = (await file.stat()).size;
    try {
      return await attempt(what, options, file);
    } catch (error) {
      options.signal?.throwIfAborted();
      if (!(error instanceof Interrupted)) throw error;
      const progressed = (await file.stat()).size >= before + DOWNLOAD_PROGRESS_BYTES;
      failures = progressed ? 0 : failures + 1;
      pauseMs = progressed ? firstPause : Math.min(pauseMs * 2, DOWNLOAD_RETRY_MS_MAX);
      if (failures >= DOWNLOAD_TRIES) {
        throw new HubError(
          `the download failed ${failures} times: ${error.message}. Start it again to resume.`,
        );
      }
      await pause(Math.min(error.afterMs ?? pauseMs, RETRY_AFTER_MS_MAX), options.signal);
    }
  }
}

/** One attempt: hashes the existing bytes, downloads the rest, verifies the whole. */
async function attempt(what: Download, options: DownloadOptions, file: FileHandle): Promise<void> {
  const resumed = await resumable(what, file);
  const hasher = newHasher(what);
  await rehash(file, resumed, hasher);
  options.onProgress(resumed);
  const digest =
    resumed < what.bytes ? await fetchRest(what, options, { file, resumed, hasher }) : hasher.digest("hex");
  if (what.hash === "" || digest === what.hash) return;
  await file.truncate(0);
  // A resumed file may have been damaged before; a file from one attempt is wrong at the hub.
  if (resumed > 0) throw new Interrupted("the content does not match its checksum");
  throw new HubError(
    `the file from ${serverOf(what)} does not match its checksum and was deleted. Try again later.`,
  );
}

/** Bytes of an earlier attempt to resume from. What neither a hash nor a version identifies is not resumed: it may have changed. */
async function resumable({ bytes, hash, version }: Download, file: FileHandle): Promise<number> {
  const { size } = await file.stat();
  const isIdentified = hash !== "" || version !== undefined;
  if (size <= bytes && isIdentified) return size;
  await file.truncate(0);
  return 0;
}

interface Writing {
  readonly file: FileHandle;
  readonly resumed: number;
  readonly hasher: Hash;
}

/** Appends the missing bytes. Returns the hash of the whole. */
async function fetchRest(what: Download, options: DownloadOptions, writing: Writing): Promise<string> {
  const stall = new AbortController();
  const timer = setTimeout(
    () => stall.abort(new Interrupted("nothing came for a while, or next to nothing")),
    DOWNLOAD_STALL_MS,
  );
  const { signal } = options;
  const either = signal === undefined ? stall.signal : AbortSignal.any([signal, stall.signal]);
  try {
    const response = await request(what, options, writing.resumed, either);
    if (hasChanged(what, response)) {
      await response.body?.cancel();
      await writing.file.truncate(0);
      throw new ContentChanged();
    }
    let { hasher, resumed: at } = writing;
    if (response.status !== 206 && at > 0) {
      await writing.file.truncate(0); // the server sends the whole file
      [hasher, at] = [newHasher(what), 0];
    }
    let mark = at;
    for await (const chunk of response.body ?? []) {
      if (at - mark >= DOWNLOAD_PROGRESS_BYTES) {
        timer.refresh();
        mark = at;
      }
      if (at + chunk.byteLength > what.bytes)
        throw new HubError(`${serverOf(what)} sent more bytes than it announced. Try again later.`);
      await write(writing.file, chunk, at);
      hasher.update(chunk);
      at += chunk.byteLength;
      options.onProgress(at);
    }
    if (at < what.bytes) throw new Interrupted("the connection ended early");
    return hasher.digest("hex");
  } catch (error) {
    if (error instanceof HubError || error instanceof Interrupted) throw error;
    throw stall.signal.aborted ? stall.signal.reason : new Interrupted(reasonOf(error), { cause: error });
  } finally {
    clearTimeout(timer);
  }
}

/** A hash finds a change by itself, at the end. */
function hasChanged({ hash, version }: Download, { headers }: Response): boolean {
  const found = validatorOf(headers);
  return hash === "" && version !== undefined && found !== undefined && found !== version;
}

/** A write error, such as a full disk, is not retried. */
async function write(file: FileHandle, chunk: Uint8Array, at: number): Promise<void> {
  try {
    for (let done = 0; done < chunk.byteLength;) {
      done += (await file.write(chunk, done, chunk.byteLength - done, at + done)).bytesWritten;
    }
  } catch (error) {
    throw new HubError(`the file could not be written: ${reasonOf(error)}. Check the disk.`);
  }
}

/** The response with a content from `from` on. Throws Interrupted for a passing failure. */
async function request(
  what: Download,
  { refusal }: DownloadOptions,
  from: number,
  signal: AbortSignal,
): Promise<Response> {
  const part: ContentRange | undefined =
    from > 0 ? { range: `bytes=${from}-`, ifRange: what.version } : undefined;
  const open =
    what.open ??
    ((wanted, ends) =>
      getContent(what.url, { token: what.token, part: wanted, signal: ends, isVerified: what.hash !== "" }));
  const response = await open(part, signal);
  const start = /^bytes (\d+)-/.exec(response.headers.get("content-range") ?? "")?.[1];
  if (response.status === 200 || (response.status === 206 && Number(start) === from)) return response;
  await response.body?.cancel();
  const isPassing = response.status >= 500 || [206, 408, 416, 425, 429].includes(response.status);
  if (isPassing) {
    const interrupted = new Interrupted(`${serverOf(what)} answered with status ${response.status}`);
    interrupted.afterMs = retryAfterMs(response.headers);
    throw interrupted;
  }
  throw refusal(response.status);
}

function serverOf({ server = "the hub" }: Download): string {
  return server;
}

function newHasher({ hash, bytes }: Download): Hash {
  // git hashes a header with the content; large files use the plain SHA-256.
  return hash.length !== 40 ? createHash("sha256") : createHash("sha1").update(`blob ${bytes}\0`);
}

async function rehash(file: FileHandle, bytes: number, hasher: Hash): Promise<void> {
  const buffer = Buffer.alloc(Math.min(REREAD_BYTES, bytes));
  for (let at = 0; at < bytes;) {
    const { bytesRead } = await file.read(buffer, 0, Math.min(buffer.length, bytes - at), at);
    if (bytesRead === 0) throw new Interrupted("the incomplete file was truncated");
    hasher.update(buffer.subarray(0, bytesRead));
    at += bytesRead;
  }
}
