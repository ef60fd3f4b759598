// CUDA's library from a signed release: the part for the cards that are here, downloaded or found in a folder, with the sum of the signed list.

import { hash } from "node:crypto";
import { readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { partFile, PTX_FILE } from "../backends/card-code.ts";
import { processEnvironment } from "../config/sources.ts";
import type { NvidiaCards } from "../core/card-drivers.ts";
import { privateFolder } from "../core/private-folder.ts";
import { reasonOf } from "../core/reason.ts";
import { sizeText } from "../core/size-text.ts";
import { StartError } from "../core/start-error.ts";
import { download } from "../hub/download.ts";
import { HubError } from "../hub/error.ts";
import { ProgressLog } from "../hub/progress.ts";
import { diskFreeBytes } from "../hub/room.ts";
import { installationOf, releasePlace } from "../update/install.ts";
import { isAddress, type ReleasePlace, shown, signedSums } from "../update/release.ts";
import { PART_BYTES_MAX, PART_SIZE_MS } from "./limits.ts";

/** A part that is on this machine. */
export interface FetchedPart {
  readonly file: string;
  /** It is in svc's cache, and can be removed once it is installed. */
  readonly isDownloaded: boolean;
}

interface PartOptions {
  readonly cacheDir: string;
  readonly log: (line: string) => void;
}

/**
 * Where parts are: as named, else as install.sh has noted; undefined where nothing is named or noted. Throws StartError where a named one
 * cannot be used.
 */
export function partPlace(named: string | undefined): ReleasePlace | undefined {
  const { SVC_RELEASE_URL: url, SVC_RELEASE_KEY: keyFile } = processEnvironment();
  const address = named ?? url;
  try {
    return releasePlace(installed(), { address, keyFile });
  } catch (error) {
    if (address === undefined) return undefined;
    throw new StartError(`${reasonOf(error)}.`, { cause: error });
  }
}

/** The prefix that install.sh has used; a folder without its notes for other kinds of installation. */
function installed(): { readonly program: string; readonly prefix: string } {
  try {
    return installationOf(process.execPath);
  } catch {
    return { program: process.execPath, prefix: process.execPath };
  }
}

/** The part of a release for these cards; undefined where it has none. Throws StartError with the reason where it cannot be had. */
export async function fetchPart(
  place: ReleasePlace,
  nvidia: NvidiaCards,
  options: PartOptions,
): Promise<FetchedPart | undefined> {
  const { log } = options;
  log(`Asking ${shown(place)} for its libraries.`);
  try {
    const sums = await signedSums(place, new AbortController().signal);
    const name = [partFile(nvidia), PTX_FILE].find((file) => sums.has(file));
    if (name === undefined) return undefined;
    const digest = sums.get(name) ?? "";
    if (isAddress(place)) return await downloaded(place, { name, hash: digest }, options);
    const file = join(place.address, name);
    if (hash("sha256", readFileSync(file)) !== digest)
      throw new StartError(`${file} does not have the SHA-256 sum of the signed list. Copy it again.`);
    return { file, isDownloaded: false };
  } catch (error) {
    if (error instanceof StartError) throw error;
    throw new StartError(`${reasonOf(error)}.`.replace(/\.\.$/, "."), { cause: error });
  }
}

async function downloaded(
  place: ReleasePlace,
  { name, hash }: { readonly name: string; readonly hash: string },
  { cacheDir, log }: PartOptions,
): Promise<FetchedPart> {
  const [url, shownUrl] = [`${place.address}/${name}`, `${shown(place)}/${name}`];
  const bytes = await sizeOf(url, shownUrl);
  const free = diskFreeBytes(cacheDir);
  if (2 * bytes > free)
    throw new StartError(
      `${name} needs ${sizeText(2 * bytes)} of disk, but ${cacheDir} has ${sizeText(free)} beside the reserve that stays free. Free disk space, or set XDG_CACHE_HOME to another folder.`,
    );
  privateFolder(join(cacheDir, "backends"));
  const file = join(cacheDir, "backends", name);
  log(`Downloading ${name} (${sizeText(bytes)}).`);
  const meter = new ProgressLog(log);
  await download(
    { url, token: undefined, bytes, hash, file, server: "the release's server" },
    {
      onProgress: (doneBytes) => meter.update({ doneBytes, totalBytes: bytes }),
      refusal: (status) =>
        new HubError(`${shownUrl} answers with status ${status}. Check the release's address.`),
    },
  );
  return { file, isDownloaded: statSync(file).isFile() };
}

/** Of what is at an address, bytes. Throws a sentence for people. */
async function sizeOf(url: string, shownUrl: string): Promise<number> {
  const response = await fetch(url, { method: "HEAD", signal: AbortSignal.timeout(PART_SIZE_MS) });
  const bytes = Number(response.headers.get("content-length") ?? 0);
  if (!response.ok || !(bytes > 0) || bytes > PART_BYTES_MAX)
    throw new Error(
      response.ok
        ? `${shownUrl} is no library: its server says ${bytes} bytes`
        : `${shownUrl} answers with status ${response.status}; name the address of a release`,
    );
  return bytes;
}
