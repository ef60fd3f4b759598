// What the libraries of back ends are recognized by: the published one by its hash. The bytes of own builds (prebuilt/build.sh vulkan)
// depend on the compiler, so they have a mark that the build compiles in. It says for which release they are, not where they come from:
// only files that the operator names may have it.

import { hash } from "node:crypto";
import { type BackendKind, RELEASE } from "./catalog.ts";

/** Text in an own build for this release. prebuilt/backends/build.sh writes it. */
export function markOf({ name }: Pick<BackendKind, "name">): string {
  return `svc back end ${name} for node-llama-cpp ${RELEASE}\0`;
}

/** Whether a library is an own build of this back end for this release. */
export function isOwnBuild(kind: Pick<BackendKind, "name">, library: Buffer): boolean {
  return library.includes(markOf(kind));
}

/** Where a library comes from: its package, or a file that the operator has named, which may be an own build. */
export type LibraryOrigin = "package" | "file";

/** Whether a library is that of a back end for this release. */
export function isLibraryOf(kind: BackendKind, library: Buffer, origin: LibraryOrigin): boolean {
  return hash("sha256", library) === kind.sha256 || (origin === "file" && isOwnBuild(kind, library));
}
