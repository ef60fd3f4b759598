// llama.cpp with the back ends that were added to svc, for engines of all kinds.

import { unpackLibraries } from "./embedded.ts";
import { describeHost } from "./host.ts";
import { type Native, openNative } from "./library.ts";
import type { EngineHost } from "../src/core/system.ts";
import type { EngineOptions } from "../src/engine/protocol.ts";

export interface OpenedNative {
  readonly native: Native;
  /** Folder of the libraries. */
  readonly libraries: string;
  /** The machine as it is now, with the back ends that could not be loaded. */
  readonly host: () => EngineHost;
}

/** `onFailure` is called for each back end that cannot be loaded; the others compute. */
export function openWithBackends(
  { cacheDir, verbosity, backends }: Exclude<EngineOptions, { readonly kind: "speech" }>,
  onFailure: (failure: string) => void,
): OpenedNative {
  const failures: string[] = [];
  const libraries = unpackLibraries(cacheDir);
  const native = openNative(libraries, verbosity, backends, (failure) => {
    onFailure(failure);
    failures.push(failure);
  });
  return { native, libraries, host: () => ({ ...describeHost(native), backend_failures: failures }) };
}
