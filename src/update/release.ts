// A release at an address or in a folder: the list of sums with its signature, the archive for this platform. Nothing of it is used
// before its signature, or its sum in the signed list, is right.

import { createHash, verify } from "node:crypto";
import { createReadStream, readFileSync } from "node:fs";
import { open } from "node:fs/promises";
import { dirname, join } from "node:path";
import { Readable } from "node:stream";
import { reasonOf } from "../core/reason.ts";
import { shownAddress } from "../core/shown-address.ts";
import { boundedPieces } from "../core/bounded-body.ts";
import {
  ARCHIVE_BYTES_MAX,
  ARCHIVE_STALL_BYTES,
  ARCHIVE_STALL_MS,
  LIST_BYTES_MAX,
  LIST_MS,
} from "./limits.ts";

/** Where releases are, and the public key (PEM) that they must be signed with. */
export interface ReleasePlace {
  /** An https or http address, or a folder. */
  readonly address: string;
  readonly key: string;
}

/** The archive of a release for this platform. */
export interface ReleaseArchive {
  readonly name: string;
  readonly version: string;
  readonly sha256: string;
}

/** Name of this platform in releases: `linux-x64`. */
const PLATFORM = `${process.platform}-${process.arch}`;

/** The sums of a signed release: lines of `SHA256SUMS`. Throws a sentence for people. */
async function signedList(place: ReleasePlace, signal: AbortSignal): Promise<string> {
  const limit = AbortSignal.any([signal, AbortSignal.timeout(LIST_MS)]);
  const sums = await smallFile(place, "SHA256SUMS", limit);
  const signature = await smallFile(place, "SHA256SUMS.sig", limit);
  if (!isSigned(sums, signature, place.key))
    throw new Error(
      `the signature of ${shown(place)}/SHA256SUMS is wrong: nothing was changed. The files were changed, or another key signed them`,
    );
  return sums.toString();
}

/** SHA-256 sums of the files of a signed release, by name. Throws a sentence for people. */
export async function signedSums(
  place: ReleasePlace,
  signal: AbortSignal,
): Promise<ReadonlyMap<string, string>> {
  const lines = (await signedList(place, signal)).matchAll(/^([0-9a-f]{64})  ([\w.+-]+)$/gm);
  return new Map(Array.from(lines, ([, sha256 = "", name = ""]) => [name, sha256]));
}

/** The archive that a signed release has for this platform. Throws a sentence for people. */
export async function findArchive(
  place: ReleasePlace,
  signal: AbortSignal,
  platform = PLATFORM,
): Promise<ReleaseArchive> {
  const sums = await signedList(place, signal);
  const line = new RegExp(`^([0-9a-f]{64})  (svc-(\\d[0-9A-Za-z.+-]*)-${platform}\\.tar\\.gz)$`, "gm");
  const found = [...sums.matchAll(line)];
  const [[, sha256 = "", name = "", version = ""] = [], other] = found;
  if (name === "") throw new Error(`the release at ${shown(place)} has no archive for ${platform}`);
  if (other !== undefined)
    throw new Error(
      `${shown(place)}/SHA256SUMS names several archives for ${platform}; name the address of one release`,
    );
  return { name, version, sha256 };
}

function isSigned(sums: Buffer, signature: Buffer, key: string): boolean {
  try {
    return verify("sha256", sums, key, signature);
  } catch (error) {
    throw new Error("the key of releases is no public key in PEM form", { cause: error });
  }
}

/** Writes the archive to a file. Throws a sentence for people, also where its sum is not the signed one. */
export async function downloadArchive(
  place: ReleasePlace,
  { name, sha256 }: ReleaseArchive,
  path: string,
  signal: AbortSignal,
): Promise<void> {
  const stall = new AbortController();
  const timer = setTimeout(() => stall.abort(), ARCHIVE_STALL_MS);
  const digest = createHash("sha256");
  const file = await open(path, "wx", 0o600);
  let bytes = 0;
  let mark = 0;
  try {
    for await (const chunk of await pieces(place, name, AbortSignal.any([signal, stall.signal]))) {
      bytes += chunk.byteLength;
      if (bytes > ARCHIVE_BYTES_MAX) throw new Error("it is larger than an archive can be");
      if (bytes - mark >= ARCHIVE_STALL_BYTES) {
        timer.refresh();
        mark = bytes;
      }
      digest.update(chunk);
      await write(file, chunk, path);
    }
  } catch (error) {
    signal.throwIfAborted();
    const reason = stall.signal.aborted ? "nothing came for a while" : reasonOf(error);
    throw new Error(`${shown(place)}/${name} could not be downloaded: ${reason}; nothing was changed`, {
      cause: error,
    });
  } finally {
    clearTimeout(timer);
    await file.close();
  }
  if (digest.digest("hex") !== sha256)
    throw new Error(
      `${name} does not have the SHA-256 sum of the signed list: nothing was changed. Try again; the download may be damaged`,
    );
}

async function write(file: Awaited<ReturnType<typeof open>>, chunk: Uint8Array, path: string): Promise<void> {
  try {
    await file.writeFile(chunk);
  } catch (error) {
    throw new Error(
      `${dirname(path)} cannot be written (${reasonOf(error)}); name a folder with room in TMPDIR`,
      { cause: error },
    );
  }
}

/** The address as it may be shown. */
export function shown({ address }: ReleasePlace): string {
  return shownAddress(address);
}

/** Whether it is reached by network; else it is a folder. */
export function isAddress({ address }: ReleasePlace): boolean {
  return /^https?:\/\//.test(address);
}

async function pieces(
  place: ReleasePlace,
  name: string,
  signal: AbortSignal,
): Promise<AsyncIterable<Uint8Array>> {
  if (!isAddress(place)) return createReadStream(join(place.address, name), { signal });
  return (await fetched(place, name, signal)).body ?? Readable.from([]);
}

async function fetched(place: ReleasePlace, name: string, signal: AbortSignal): Promise<Response> {
  const url = `${shown(place)}/${name}`;
  let response: Response;
  try {
    response = await fetch(`${place.address}/${name}`, { signal });
  } catch (error) {
    throw new Error(`${url} could not be reached; check the address and the network`, { cause: error });
  }
  if (response.ok) return response;
  throw new Error(`${url} answers with status ${response.status}; name the address of a release`);
}

async function smallFile(place: ReleasePlace, name: string, signal: AbortSignal): Promise<Buffer> {
  if (!isAddress(place)) {
    try {
      return readFileSync(join(place.address, name)).subarray(0, LIST_BYTES_MAX);
    } catch (error) {
      throw new Error(`${place.address} holds no ${name}; name the folder of a release`, { cause: error });
    }
  }
  const { body } = await fetched(place, name, signal);
  const tooLarge = (): Error => new Error(`${shown(place)}/${name} is too large to be one`);
  return Buffer.concat(await boundedPieces(body, LIST_BYTES_MAX, tooLarge));
}
