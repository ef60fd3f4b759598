// Vendors' run-time libraries from Python wheels: finds a wheel in a package index, has it downloaded and checked against the
// catalog's hash, and unpacks its libraries. A wheel is a zip file, so no Python is needed.

import { createWriteStream, existsSync, mkdirSync, renameSync, rmSync } from "node:fs";
import { basename, join } from "node:path";
import { pipeline } from "node:stream/promises";
import { openPromise } from "yauzl";
import { privateFolder } from "../core/private-folder.ts";
import { reasonOf } from "../core/reason.ts";
import { StartError } from "../core/start-error.ts";
import type { Wheel } from "./catalog.ts";
import { type PackageIndex, wheelUrl } from "./package-index.ts";

/** A file to download, with its pinned content. */
export interface WheelDownload extends Pick<Wheel, "bytes" | "sha256"> {
  readonly url: string;
  /** Credentials for the origin of `url`. */
  readonly authorization: string | undefined;
  readonly file: string;
}

export interface WheelOptions {
  readonly index: PackageIndex;
  /** Resumes what an earlier attempt has left; resolves when the file is complete and has the hash. */
  readonly download: (what: WheelDownload) => Promise<void>;
}

/** Where the libraries of a wheel lie after it is installed. */
export function wheelFolder(cacheDir: string, { project, version }: Wheel): string {
  return join(cacheDir, "backends", `${project}-${version}`);
}

export function isInstalled(cacheDir: string, wheel: Wheel): boolean {
  return existsSync(wheelFolder(cacheDir, wheel));
}

/** Bytes of the disk that wheels take while they are installed. */
export function roomFor(wheels: readonly Wheel[]): number {
  return wheels.reduce((sum, { bytes, unpackedBytes }) => sum + bytes + unpackedBytes, 0);
}

/** Downloads and unpacks a wheel. Throws StartError; what was downloaded stays for the next attempt. */
export async function installWheel(cacheDir: string, wheel: Wheel, options: WheelOptions): Promise<void> {
  privateFolder(join(cacheDir, "backends"));
  const file = join(cacheDir, "backends", wheel.file);
  const { url, authorization } = await wheelUrl(options.index, wheel);
  await options.download({ url, authorization, bytes: wheel.bytes, sha256: wheel.sha256, file });
  await unpackWheel(cacheDir, wheel, file);
  rmSync(file, { force: true });
}

/** Unpacks a wheel that is here and was checked. Throws StartError. */
export async function unpackWheel(cacheDir: string, wheel: Wheel, file: string): Promise<void> {
  const folder = wheelFolder(cacheDir, wheel);
  privateFolder(join(cacheDir, "backends"));
  const aside = `${folder}.new`;
  rmSync(aside, { recursive: true, force: true });
  mkdirSync(aside, { mode: 0o700 });
  try {
    await unpack(file, wheel, aside);
    rmSync(folder, { recursive: true, force: true });
    renameSync(aside, folder);
  } catch (error) {
    rmSync(aside, { recursive: true, force: true });
    throw new StartError(`${wheel.file} could not be unpacked: ${reasonOf(error)}`, { cause: error });
  }
}

/** Removes the libraries of a wheel, and what an interrupted download has left of it. */
export function uninstallWheel(cacheDir: string, wheel: Wheel): void {
  rmSync(wheelFolder(cacheDir, wheel), { recursive: true, force: true });
  for (const suffix of ["", ".svc-partial"])
    rmSync(join(cacheDir, "backends", wheel.file + suffix), { force: true });
}

/** Writes the libraries, the licence and the notice into a folder. Names within the archive decide nothing but which entry it is. */
async function unpack(file: string, { libraries }: Wheel, folder: string): Promise<void> {
  const missing = new Set(libraries);
  const zip = await openPromise(file, { lazyEntries: true, strictFileNames: true });
  try {
    for await (const entry of zip.eachEntry()) {
      const isLicence = /\.dist-info\/(?:licenses\/)?(?:licen[cs]e|notice)[^/]*$/i.test(entry.fileName);
      if (!isLicence && !missing.has(entry.fileName)) continue;
      const target = join(folder, basename(entry.fileName));
      await pipeline(await zip.openReadStreamPromise(entry), createWriteStream(target, { mode: 0o600 }));
      missing.delete(entry.fileName);
    }
  } finally {
    zip.close();
  }
  if (missing.size > 0) throw new Error(`it lacks ${[...missing].join(", ")}`);
}
