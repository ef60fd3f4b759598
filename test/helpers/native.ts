// The native libraries and the built-in model, loaded once for a test process.

import { dlopen } from "bun:ffi";
import { readdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import { unpackGrammar, unpackLibraries, unpackSpeech } from "../../ffi/embedded.ts";
import { GrammarEngine } from "../../ffi/llama/grammar.ts";
import { type Native, openGrammar, openNative, openSpeech, type SpeechNative } from "../../ffi/library.ts";
import { LlamaBackend } from "../../ffi/llama/llama.ts";
import { installedBackends } from "../../src/backends/store.ts";
import type { TextOptions } from "../../src/engine/protocol.ts";
import { tempDir } from "./tmp.ts";

export const TINY_PATH = join(import.meta.dir, "../../demo-model/tiny.gguf");

/** Turns that a compute thread waits before it sleeps, as in test/ring.sh. */
const SPINS = "1000";

// On a busy machine threads that wait longer take the time of those that they wait for: ten times the work in test/ffi/draft.test.ts.
// OpenMP reads the variable when it is loaded, from the C library, which process.env does not reach.
if (process.platform === "linux" && process.env["GOMP_SPINCOUNT"] === undefined) {
  const libc = dlopen("libc.so.6", { setenv: { args: ["cstring", "cstring", "int"], returns: "int" } });
  libc.symbols.setenv(Buffer.from("GOMP_SPINCOUNT\0"), Buffer.from(`${SPINS}\0`), 1);
  libc.close();
}

let opened: Native | undefined;
let dir: string | undefined;

let cache: string | undefined;

function cacheDir(): string {
  return (cache ??= tempDir());
}

/**
 * Where the libraries lie; they are unpacked to a temporary folder the first time. SVC_TEST_CPU names the one CPU variant to
 * leave there, so that what lesser processors get can be tested on a better one.
 */
export function libraryDir(): string {
  return (dir ??= withOneVariant(unpackLibraries(cacheDir()), process.env.SVC_TEST_CPU));
}

function withOneVariant(libraries: string, variant: string | undefined): string {
  if (variant === undefined) return libraries;
  const others = readdirSync(libraries).filter((file) => file.startsWith("libggml-cpu-"));
  for (const file of others) if (file !== `libggml-cpu-${variant}.so`) rmSync(join(libraries, file));
  return libraries;
}

/** Where the grammar library lies, unpacked likewise. */
export function grammarDir(): string {
  return unpackGrammar(cacheDir());
}

/** Grammars for a model's tokens. */
export function grammars(backend: LlamaBackend): GrammarEngine {
  return new GrammarEngine(openGrammar(grammarDir()), backend.tokens());
}

let speech: SpeechNative | undefined;

/** The speech library, unpacked likewise. */
export function speechNative(): SpeechNative {
  return (speech ??= openSpeech(unpackSpeech(cacheDir())));
}

/** svc's cache folder whose installed back ends are loaded, so that layers are placed on their devices; usually none is. */
const BACKENDS_DIR = process.env.SVC_TEST_BACKENDS;

/** The shim. */
export function native(): Native {
  const backends = BACKENDS_DIR === undefined ? [] : installedBackends(BACKENDS_DIR);
  return (opened ??= openNative(libraryDir(), 0, backends, (failure) => {
    throw new Error(failure);
  }));
}

const OPTIONS: TextOptions = {
  kind: "text",
  cacheDir: "",
  maxSeqs: 16,
  prefixCacheN: 0,
  contextLen: 8192,
  cacheType: "f16",
  pagedAttn: true,
  threads: 2,
  batch: 512,
  ubatch: 256,
  deviceLayers: BACKENDS_DIR === undefined ? 0 : -1,
  placement: {},
  verbosity: 0,
};

/** The built-in model in a context of its own. Throws what LlamaBackend.load throws. */
export function tinyBackend(options: Partial<TextOptions> = {}, path = TINY_PATH): Promise<LlamaBackend> {
  return LlamaBackend.load(native(), path, { ...OPTIONS, ...options });
}
