// Loads compute back ends that were added to svc.

import { dlopen } from "bun:ffi";
import { randomBytes } from "node:crypto";
import { mkdirSync, readlinkSync, renameSync, symlinkSync } from "node:fs";
import { basename, join } from "node:path";
import { upstream } from "./names.ts";
import { nativeText } from "./text.ts";
import type { BackendLibrary, NeededLibrary } from "../src/engine/protocol.ts";

/** dlfcn.h: all symbols are resolved at once, as llama.cpp asks for. */
const RTLD_NOW = 2;

/**
 * Loads the back ends into the ggml in `dir`, which is already loaded. Returns a sentence for each that could not be loaded:
 * models then run on what is left.
 *
 * The libraries need `libggml-base.so` by that name and search for it beside themselves. So each is loaded through a link in
 * a folder that also links to svc's own copy; the loader recognizes that as the library it has already loaded.
 */
export function loadBackends(dir: string, backends: readonly BackendLibrary[]): readonly string[] {
  return backends.flatMap((backend) => {
    try {
      loadBackend(dir, backend);
      return [];
    } catch (error) {
      return [`back end ${backend.name}: ${error instanceof Error ? error.message : String(error)}`];
    }
  });
}

function loadBackend(dir: string, { name, path, needs }: BackendLibrary): void {
  for (const library of needs) loadNeeded(library);
  const folder = join(dir, "backends", name);
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  link(join(dir, upstream("ggml-base")), join(folder, "libggml-base.so"));
  const linked = join(folder, basename(path));
  link(path, linked);
  const { symbols: ggml } = dlopen(join(dir, upstream("ggml")), {
    ggml_backend_load: { args: ["buffer"], returns: "ptr" },
  });
  if (ggml.ggml_backend_load(Buffer.from(`${linked}\0`)) === null)
    throw new Error(`${basename(path)} could not be loaded: ${loadFailure(linked, needs)}`);
}

/** Why the loader refuses a library, without its path. llama.cpp only logs it. */
function loadFailure(path: string, needs: readonly NeededLibrary[]): string {
  const { symbols: libc } = dlopen("libc.so.6", {
    dlopen: { args: ["buffer", "i32"], returns: "ptr" },
    dlerror: { args: [], returns: "ptr" },
  });
  if (libc.dlopen(Buffer.from(`${path}\0`), RTLD_NOW) !== null)
    return "it finds no driver of a device that it can use";
  const reason = nativeText(libc.dlerror()).replaceAll(`${path}: `, "");
  const [symbol] = /(?<=undefined symbol: )\w+/.exec(reason) ?? [];
  if (symbol === undefined) return reason;
  const makers = [...new Set(needs.map(({ from }) => from))].join(" and ");
  return `no library has ${symbol}. Update what it needs: ${makers}`;
}

/** Loads a library of the system from the first path that has it. */
function loadNeeded({ paths, symbol, from }: NeededLibrary): void {
  for (const path of paths) {
    try {
      dlopen(path, { [symbol]: { args: [], returns: "ptr" } });
      return;
    } catch {
      // not there, or not loadable: the next path
    }
  }
  throw new Error(`${paths[0]} could not be loaded. It comes with ${from}`);
}

/** Makes or corrects a symbolic link; another engine may do the same at the same time. */
function link(target: string, path: string): void {
  try {
    if (readlinkSync(path) === target) return;
  } catch {
    // absent
  }
  const aside = `${path}.${randomBytes(6).toString("hex")}`;
  symlinkSync(target, aside);
  renameSync(aside, path);
}
