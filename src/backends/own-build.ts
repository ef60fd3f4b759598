// Own builds of back ends (prebuilt/build.sh vulkan): their bytes depend on the compiler, so they are recognized by a mark that the
// build compiles in. It says for which release they are, not where they come from: only files that the operator names may have it.

import { type BackendKind, RELEASE } from "./catalog.ts";

/** Text in an own build for this release. prebuilt/backends/build.sh writes it. */
export function markOf({ name }: Pick<BackendKind, "name">): string {
  return `svc back end ${name} for node-llama-cpp ${RELEASE}\0`;
}

/** Whether a library is an own build of this back end for this release. */
export function isOwnBuild(kind: Pick<BackendKind, "name">, library: Buffer): boolean {
  return library.includes(markOf(kind));
}
