// Reads a zip archive entry by entry. The archive's own directory is what counts, so that a file hidden between entries
// does not exist; sizes are checked against it while unpacking.

import { type Entry, fromBufferPromise, type ZipFile } from "yauzl";
import { SKILL_BYTES_MAX, SKILL_ENTRIES_MAX, SKILL_FILE_BYTES_MAX } from "./limits.ts";
import { invalidSkill, shown } from "./invalid.ts";
import { isLitter, safePath, tooMany } from "./paths.ts";

/** A file inside an archive, to be read before the next one is asked for. */
export interface ZipEntry {
  readonly path: string;
  readonly content: AsyncIterable<Uint8Array>;
  /** Whether its owner may run it. */
  readonly isProgram: boolean;
}

/** Type bits of a Unix mode and the values that may be unpacked; archives from elsewhere have none of them. */
const TYPE_MASK = 0o170000;
const PLAIN_TYPES = new Set([0, 0o100000, 0o040000]);

/** Compression methods: stored and deflated. */
const METHODS = new Set([0, 8]);

/** Whether bytes begin as a zip archive does. */
export function isZip(bytes: Uint8Array): boolean {
  return Buffer.from(bytes.subarray(0, 4)).equals(Buffer.from("PK\u0003\u0004"));
}

/** The archive's files, folders left out. Throws `invalid_skill_upload`. */
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
    if (entry.fileName.endsWith("/") || isLitter(entry.fileName)) continue;
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
    throw invalidSkill("the archive is not a zip archive, or is damaged", cause);
  });
  if (zip.entryCount > 2 * SKILL_ENTRIES_MAX) throw tooMany(); // folders and litter are entries too
  return zip;
}

function checkKind(entry: Entry): void {
  const name = shown(entry.fileName);
  if (!PLAIN_TYPES.has((entry.externalFileAttributes >>> 16) & TYPE_MASK)) {
    throw invalidSkill(`${name} is a link or a device; pack files and folders alone`);
  }
  if (entry.isEncrypted()) throw invalidSkill(`${name} is encrypted; pack it without a password`);
  if (!METHODS.has(entry.compressionMethod)) {
    throw invalidSkill(`${name} is compressed in a way that is not supported; use the ordinary one, deflate`);
  }
  if (entry.uncompressedSize > SKILL_FILE_BYTES_MAX) {
    throw invalidSkill(`${name} is larger than ${SKILL_FILE_BYTES_MAX} bytes`);
  }
}

/** Begins to unpack when it is first asked, so that nothing can fail while nobody listens. */
async function* contentOf(zip: ZipFile, entry: Entry): AsyncGenerator<Uint8Array> {
  const stream = await zip.openReadStreamPromise(entry);
  stream.on("error", () => undefined); // the loop hears of it too
  yield* stream as AsyncIterable<Uint8Array>;
}
