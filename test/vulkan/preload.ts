// Builds the library that changes a Vulkan driver for tests (faults.c).

import { join } from "node:path";
import { tempDir } from "../helpers/tmp.ts";

/** A library for LD_PRELOAD. */
export function preloadLibrary(): string {
  const library = join(tempDir(), "faults.so");
  const compiler = Bun.which("cc");
  if (compiler === null) throw new Error("a C compiler is missing (Debian: gcc)");
  const source = join(import.meta.dir, "faults.c");
  const { success, stderr } = Bun.spawnSync([compiler, "-shared", "-fPIC", "-O1", "-o", library, source]);
  if (!success) throw new Error(`faults.c could not be compiled: ${stderr.toString()}`);
  return library;
}
