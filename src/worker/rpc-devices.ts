// The process behind `svc rpc-worker` that holds the devices: llama.cpp's RPC server on the loopback address.

import { unpackLibraries } from "../../ffi/embedded.ts";
import { openNative } from "../../ffi/library.ts";
import { serveRpc } from "../../ffi/llama/rpc.ts";
import type { BackendLibrary } from "../engine/protocol.ts";

/** Entry of the hidden command: `ENDPOINT THREADS CACHE_DIR BACKENDS_JSON`. Returns an exit code when the server fails. */
export function rpcDevicesMain(words: readonly string[]): number {
  const [endpoint = "", threads = "1", cacheDir = "", backends = "[]"] = words;
  const libraries = unpackLibraries(cacheDir);
  const installed = JSON.parse(backends) as readonly BackendLibrary[]; // written by src/app/rpc.ts
  openNative(libraries, 0, installed, (failure) => console.error(`rpc-worker: ${failure}`));
  serveRpc(libraries, endpoint, Number(threads));
  return 1;
}
