// Reads a zip archive entry by entry, by its central directory only, so data hidden between entries is ignored. Sizes are
// checked against it while unpacking.

import { type Entry, fromBufferPromise, type ZipFile } from "yauzl";
import { SKILL_BYTES_MAX, SKILL_ENTRIES_MAX, SKILL_FILE_BYTES_MAX } from "./limits.ts";
import { invalidSkill, shown } from "./invalid.ts";
import { isPackerMetadata, safePath, tooMany } from "./paths.ts";

/** A file of an archive; read it before requesting the next. */
export interface ZipEntry {
  readonly path: string;
  readonly content: AsyncIterable<Uint8Array>;
  /** Whether the owner's execute bit is set. */
  readonly isProgram: boolean;
}

/** File-type bits of a Unix mode and the permitted types; archives of other systems have none. */
const TYPE_MASK = 0o170000;
const PLAIN_TYPES = new Set([0, 0o100000, 0o040000]);

/** Supported compression methods: stored and deflate. */
const METHODS = new Set([0, 8]);

/** Whether bytes start with a zip signature. */
export function isZip(bytes: Uint8Array): boolean {
  return Buffer.from(bytes.subarray(0, 4)).equals(Buffer.from("PK\u0003\u0004"));
}

/** The archive's files, without folders. Throws `invalid_skill_upload`. */
export async function* zipEntries(archive: Uint8Array<ArrayBuffer>): AsyncGenerator<ZipEntry> {
  const zip = await opened(archive);
  let bytesLeft = SKILL_BYTES_MAX;
  const entries = zip.eachEntry();
  for (;;) {
    const next = await entries.next().catch((cause: unknown) => {
      throw invalidSkill(
        "the archive's directory cannot be read; its names must be relative paths with /",
        cause,
      );
    });
    if (next.done === true) return;
    const entry: Entry = next.value;
    if (entry.fileName.endsWith("/") || isPackerMetadata(entry.fileName)) continue;
    checkKind(entry);
    bytesLeft -= entry.uncompressedSize;
    if (bytesLeft < 0) throw invalidSkill(`a skill may have at most ${SKILL_BYTES_MAX} bytes, unpacked`);
    const isProgram = ((entry.externalFileAttributes >>> 16) & 0o100) !== 0;
    yield { path: safePath(entry.fileName), content: contentOf(zip, entry), isProgram };
  }
}

async function opened(archive: Uint8Array<ArrayBuffer>): Promise<ZipFile> {
  const buffer = Buffer.from(archive.buffer, archive.byteOffset, archive.byteLength);
  const options = { lazyEntries: true, strictFileNames: true, validateEntrySizes: true };
  const zip = await fromBufferPromise(buffer, options).catch((cause: unknown) => {
    throw invalidSkill("the archive is not a zip file, or is damaged", cause);
  });
  if (zip.entryCount > 2 * SKILL_ENTRIES_MAX) throw tooMany(); // folders and archiver metadata are entries too
  return zip;
}

function checkKind(entry: Entry): void {
  const name = shown(entry.fileName);
  if (!PLAIN_TYPES.has((entry.externalFileAttributes >>> 16) & TYPE_MASK)) {
    throw invalidSkill(`${name} is a link or a device; pack only files and folders`);
  }
  if (entry.isEncrypted()) throw invalidSkill(`${name} is encrypted; pack it without a password`);
  if (!METHODS.has(entry.compressionMethod)) {
    throw invalidSkill(`${name} is compressed with an unsupported method; use deflate`);
  }
  if (entry.uncompressedSize > SKILL_FILE_BYTES_MAX) {
    throw invalidSkill(`${name} is larger than ${SKILL_FILE_BYTES_MAX} bytes`);
  }
}

/** Starts to unpack on the first read, so that no error is emitted without a listener. */
async function* contentOf(zip: ZipFile, entry: Entry): AsyncGenerator<Uint8Array> {
  const stream = await zip.openReadStreamPromise(entry);
  stream.on("error", () => undefined); // the read loop gets the error too
  yield* stream as AsyncIterable<Uint8Array>;
}
