// Reads the headers of GGUF files, each file once: what was read, or why it cannot be, is remembered until size or time of the file
// change. A server reads headers with `knowHeaders`, which pauses for its requests; the functions that return at once find them known
// then, and read what is not.
// Limits bound a read to a tenth of a second, less than the start of a process for it would take.

import { type Stats, statSync } from "node:fs";
import { open } from "node:fs/promises";
import { setImmediate as afterEvents } from "node:timers/promises";
import { startOf } from "./file-bytes.ts";
import { compactField, finish, type GgufHeader, GgufProblem, HeaderCut, headerSteps } from "./gguf.ts";
import { HEADER_BYTES, HEADER_BYTES_MAX, HEADERS_KEPT_BYTES_MAX, HEADERS_KEPT_MAX } from "./limits.ts";
import { fieldProblem } from "./model-problem.ts";

/** Time without a pause, milliseconds. */
const SLICE_MS = 5;

type Outcome = { readonly header: GgufHeader } | { readonly error: unknown };
interface Known {
  readonly state: string;
  readonly outcome: Outcome;
  /** What it takes of memory, about. */
  readonly bytes: number;
}

/** By path, the least recently read first. */
const known = new Map<string, Known>();

/**
 * Metadata of a file and what its tensors are; of long arrays the lengths alone. Throws GgufProblem for a file that is not GGUF or has
 * impossible values, and an error of the system for one that cannot be read.
 */
export function readGgufHeader(path: string): GgufHeader {
  const stat = statSync(path);
  const read = () => outcomeOf(() => compactHeader(readWholeHeader(path)));
  const outcome = recall(path, stat) ?? remember(path, stat, read());
  if ("error" in outcome) throw outcome.error;
  return outcome.header;
}

/** The header with all items of its arrays, which is not remembered. Throws as `readGgufHeader` does. */
export function readWholeHeader(path: string): GgufHeader {
  const { size } = regular(statSync(path));
  for (let bytes = HEADER_BYTES; ; bytes *= 4) {
    try {
      return checked(finish(headerSteps(startOf(path, Math.min(bytes, size)))));
    } catch (error) {
      if (!(error instanceof HeaderCut) || isLast(bytes, size)) throw tooLong(error, size);
    }
  }
}

/** Reads the headers of files that are not known, without delaying other work. Problems are kept for who asks for the header. */
export async function knowHeaders(paths: readonly string[]): Promise<void> {
  for (const path of paths) {
    const stat = statSync(path, { throwIfNoEntry: false });
    if (stat === undefined || recall(path, stat) !== undefined) continue;
    const outcome = await readSlowly(path, stat).then(
      (header) => ({ header: compactHeader(header) }),
      (error: unknown) => ({ error }),
    );
    remember(path, stat, outcome);
  }
}

async function readSlowly(path: string, stat: Stats): Promise<GgufHeader> {
  const { size } = regular(stat);
  for (let bytes = HEADER_BYTES; ; bytes *= 4) {
    try {
      return checked(await withPauses(headerSteps(await firstBytes(path, Math.min(bytes, size)))));
    } catch (error) {
      if (!(error instanceof HeaderCut) || isLast(bytes, size)) throw tooLong(error, size);
    }
  }
}

/** Devices and pipes may never end. */
function regular(stat: Stats): Stats {
  if (!stat.isFile()) throw new GgufProblem("it is no regular file");
  return stat;
}

/** Runs a reader, with pauses for other work of the process. */
export async function withPauses<T>(steps: Generator<undefined, T>): Promise<T> {
  for (let since = performance.now(); ;) {
    const { done, value } = steps.next();
    if (done === true) return value;
    if (performance.now() - since < SLICE_MS) continue;
    await afterEvents();
    since = performance.now();
  }
}

function isLast(bytes: number, size: number): boolean {
  return bytes >= size || bytes >= HEADER_BYTES_MAX;
}

/** A header that ends neither here nor with the file. */
function tooLong(error: unknown, size: number): unknown {
  if (!(error instanceof HeaderCut) || size <= HEADER_BYTES_MAX) return error;
  return new GgufProblem(`its header is longer than ${HEADER_BYTES_MAX / 2 ** 20} MiB`);
}

/** Impossible numbers of layers, heads or experts end here, before anything computes with them. */
function checked(header: GgufHeader): GgufHeader {
  const problem = fieldProblem(header.fields);
  if (problem !== undefined) throw new GgufProblem(problem);
  return header;
}

/** The header without the items of long arrays: what may be kept while the file's bytes are released. */
export function compactHeader({ fields, tensors }: GgufHeader): GgufHeader {
  return { fields: new Map([...fields].map(([key, field]) => [key, compactField(field)])), tensors };
}

function outcomeOf(read: () => GgufHeader): Outcome {
  try {
    return { header: read() };
  } catch (error) {
    return { error };
  }
}

function recall(path: string, stat: Stats): Outcome | undefined {
  const found = known.get(path);
  return found?.state === stateOf(stat) ? found.outcome : undefined;
}

function remember(path: string, stat: Stats, outcome: Outcome): Outcome {
  known.delete(path);
  known.set(path, { state: stateOf(stat), outcome, bytes: bytesOf(outcome) });
  let bytes = [...known.values()].reduce((sum, one) => sum + one.bytes, 0);
  for (const [oldest, one] of known) {
    const fits = known.size <= HEADERS_KEPT_MAX && bytes <= HEADERS_KEPT_BYTES_MAX;
    if (fits || oldest === path) break;
    known.delete(oldest);
    bytes -= one.bytes;
  }
  return outcome;
}

/** Of a field's and of a tensor's objects in memory, beside their texts. */
const ENTRY_BYTES = 256;

function bytesOf(outcome: Outcome): number {
  if ("error" in outcome) return ENTRY_BYTES;
  const { fields, tensors } = outcome.header;
  let bytes = (fields.size + tensors.size) * ENTRY_BYTES;
  for (const { key, raw } of fields.values()) bytes += key.length + raw.byteLength;
  return bytes;
}

function stateOf({ ino, size, mtimeMs, ctimeMs }: Stats): string {
  return [ino, size, mtimeMs, ctimeMs].join(" ");
}

async function firstBytes(path: string, bytes: number): Promise<Uint8Array> {
  const buffer = new Uint8Array(bytes);
  await using file = await open(path, "r");
  let done = 0;
  while (done < bytes) {
    const { bytesRead } = await file.read(buffer, done, bytes - done, done);
    if (bytesRead === 0) break;
    done += bytesRead;
  }
  return buffer.subarray(0, done);
}
