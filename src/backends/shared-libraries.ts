// Whether the system has a shared library: in the loader's cache, its usual folders, or vendors' folders. Loads nothing.

import { existsSync } from "node:fs";
import { join } from "node:path";
import { VENDOR_FOLDERS } from "./catalog.ts";

const USUAL_FOLDERS: readonly string[] = [
  "/lib/x86_64-linux-gnu",
  "/usr/lib/x86_64-linux-gnu",
  "/lib64",
  "/usr/lib64",
  "/usr/lib",
  "/usr/local/lib",
];

/** `libraryPath`: LD_LIBRARY_PATH. */
export function systemLibraries(libraryPath = ""): (library: string) => boolean {
  const folders = [
    ...libraryPath.split(":").filter((folder) => folder !== ""),
    ...USUAL_FOLDERS,
    ...VENDOR_FOLDERS,
  ];
  const cached = loaderCache();
  return (library) => cached.has(library) || folders.some((folder) => existsSync(join(folder, library)));
}

/** Names in the loader's cache; empty where ldconfig is missing. */
function loaderCache(): ReadonlySet<string> {
  const program = ["/sbin/ldconfig", "/usr/sbin/ldconfig"].find((path) => existsSync(path));
  if (program === undefined) return new Set();
  const { stdout } = Bun.spawnSync([program, "-p"], { stderr: "ignore" });
  return new Set(
    stdout
      .toString()
      .split("\n")
      .map((line) => line.trim().split(" ")[0] ?? ""),
  );
}
