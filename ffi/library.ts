// Opens the native libraries. The only place that calls dlopen.

import { dlopen, type Library as BunLibrary } from "bun:ffi";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { loadBackends } from "./backends.ts";
import { own, upstream } from "./names.ts";
import { nativeText } from "./text.ts";
import type { BackendLibrary } from "../src/engine/protocol.ts";
import { ABI_HASH as GRAMMAR_ABI_HASH, SYMBOLS as GRAMMAR_SYMBOLS } from "./llama/grammar-symbols.ts";
import { ABI_HASH as IMAGE_ABI_HASH, SYMBOLS as IMAGE_SYMBOLS } from "./image/symbols.ts";
import { ABI_HASH as SPEECH_ABI_HASH, SYMBOLS as SPEECH_SYMBOLS } from "./speech/symbols.ts";
import { ABI_HASH, SYMBOLS } from "./llama/symbols.ts";

/** The shim's entry points, typed from ffi/llama/symbols.ts. */
export type Native = BunLibrary<typeof SYMBOLS>["symbols"];

/** The grammar library's entry points, typed from ffi/llama/grammar-symbols.ts. */
export type GrammarNative = BunLibrary<typeof GRAMMAR_SYMBOLS>["symbols"];

/** The image library's entry points, typed from ffi/image/symbols.ts. */
export type ImageNative = BunLibrary<typeof IMAGE_SYMBOLS>["symbols"];

/** The speech library's entry points, typed from ffi/speech/symbols.ts. */
export type SpeechNative = BunLibrary<typeof SPEECH_SYMBOLS>["symbols"];

const OPENMP = "libgomp.so.1";

// Dependency order: the loader then finds what each needs by name among the loaded libraries.
const LOAD_ORDER: readonly (readonly [file: string, anySymbol: string])[] = [
  [OPENMP, "omp_get_max_threads"],
  [upstream("ggml-base"), "ggml_version"],
  [upstream("ggml"), "ggml_backend_reg_count"],
  [upstream("llama"), "llama_backend_init"],
  [upstream("llama-common"), "_Z16llama_build_infov"],
  [upstream("mtmd"), "mtmd_default_marker"],
];

function checkAbi(file: string, built: string, needed: string, word: string): void {
  if (built !== needed) {
    throw new Error(`${file} has ABI ${built}, but this svc needs ${needed}: run prebuilt/build.sh ${word}`);
  }
}

/**
 * Loads the libraries in `dir` and their compute back ends, then added ones. Throws when one of svc's own is missing or was
 * built from another version of the shim's header. verbosity: 0 errors … 3 debug. `onFailure` receives a sentence for each
 * added back end that could not be loaded.
 */
export function openNative(
  dir: string,
  verbosity: number,
  added: readonly BackendLibrary[] = [],
  onFailure: (failure: string) => void = () => {},
): Native {
  loadInOrder(dir, LOAD_ORDER);
  const { symbols: native } = dlopen(join(dir, own("svc_llama")), SYMBOLS);
  checkAbi(own("svc_llama"), nativeText(native.svc_abi_hash()), ABI_HASH, "shim");
  if (native.svc_init(Buffer.from(`${dir}\0`), verbosity) !== 0) {
    throw new Error(nativeText(native.svc_last_error()));
  }
  for (const failure of loadBackends(dir, added)) onFailure(failure); // whose log lines go where svc_init sends them
  return native;
}

/**
 * The runtime cannot call libraries where it could not reserve executable memory at its start, and the loader cannot map them from a file
 * system that is mounted noexec.
 */
function explained(error: unknown): unknown {
  if (!(error instanceof Error)) return error;
  if (error.message.includes("failed to map segment")) {
    const why =
      "the file system of svc's cache is mounted noexec; set XDG_CACHE_HOME to a folder on another one";
    return new Error(`libraries cannot be loaded: ${why}`, { cause: error });
  }
  if (!error.message.includes("requires the JIT")) return error;
  const why = "memory is short or limited (ulimit -d, -v), or writable executable memory is forbidden";
  return new Error(`native code cannot be called: ${why}`, { cause: error });
}

/** Loads the grammar library in `dir`. Throws like openNative. */
export function openGrammar(dir: string): GrammarNative {
  const { symbols: native } = dlopen(join(dir, own("svc_grammar")), GRAMMAR_SYMBOLS);
  checkAbi(own("svc_grammar"), nativeText(native.svc_grammar_abi_hash()), GRAMMAR_ABI_HASH, "grammar");
  return native;
}

/** Loads the image library in `dir`, after openNative, whose ggml and back ends it computes with. Throws like openNative. */
export function openImage(dir: string, verbosity: number): ImageNative {
  const { symbols: native } = dlopen(join(dir, own("svc_image")), IMAGE_SYMBOLS);
  checkAbi(own("svc_image"), nativeText(native.svc_image_abi_hash()), IMAGE_ABI_HASH, "image");
  if (native.svc_image_init(verbosity) !== 0) {
    throw new Error(nativeText(native.svc_image_last_error()));
  }
  return native;
}

function loadInOrder(dir: string, files: typeof LOAD_ORDER): void {
  try {
    for (const [file, symbol] of files) {
      if (file === OPENMP && !existsSync(join(dir, file))) continue; // built with llama.cpp's own threads
      dlopen(join(dir, file), { [symbol]: { args: [], returns: "ptr" } });
    }
  } catch (error) {
    throw explained(error);
  }
}

/** Loads the speech library in `dir`. Throws like openNative. */
export function openSpeech(dir: string): SpeechNative {
  const { symbols: native } = dlopen(join(dir, own("svc_speech")), SPEECH_SYMBOLS);
  checkAbi(own("svc_speech"), nativeText(native.svc_speech_abi_hash()), SPEECH_ABI_HASH, "speech");
  return native;
}

const SHERPA_SYMBOLS = {
  SherpaOnnxGetVersionStr: { args: [], returns: "ptr" },
  SherpaOnnxCreateOfflineTts: { args: ["buffer"], returns: "ptr" },
  SherpaOnnxOfflineTtsSampleRate: { args: ["ptr"], returns: "i32" },
  SherpaOnnxOfflineTtsGenerate: { args: ["ptr", "ptr", "i32", "f32"], returns: "ptr" },
  SherpaOnnxDestroyOfflineTtsGeneratedAudio: { args: ["ptr"], returns: "void" },
} as const;

/** The functions of sherpa-onnx's C interface that svc uses. */
export type SherpaNative = BunLibrary<typeof SHERPA_SYMBOLS>["symbols"];

/** Loads an operator's sherpa-onnx library. Throws for another library. */
export function openSherpa(path: string): SherpaNative {
  return dlopen(path, SHERPA_SYMBOLS).symbols;
}

/** linux/landlock.h: without rules, this flag returns the version. The number is the same on all architectures. */
const SYS_LANDLOCK_CREATE_RULESET = 444;
const LANDLOCK_CREATE_RULESET_VERSION = 1;

/** Version of the kernel's Landlock; undefined where it is missing or disabled. */
export function landlockAbi(): number | undefined {
  if (process.platform !== "linux") return undefined;
  try {
    const { symbols } = dlopen("libc.so.6", {
      syscall: { args: ["i64", "ptr", "u64", "u32"], returns: "i64" },
    });
    const abi = Number(
      symbols.syscall(SYS_LANDLOCK_CREATE_RULESET, null, 0, LANDLOCK_CREATE_RULESET_VERSION),
    );
    return abi > 0 ? abi : undefined;
  } catch {
    return undefined; // another C library: features that depend on it are unavailable
  }
}
