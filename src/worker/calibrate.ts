// An importance matrix from a text: the model reads it, in windows of its own, and every row counts.

import { closeSync, openSync, readSync } from "node:fs";
import { LlamaBackend } from "../../ffi/llama/llama.ts";
import type { Native } from "../../ffi/library.ts";
import type { TextOptions } from "../engine/protocol.ts";
import type { SlotId } from "./text/backend.ts";

/** Tokens that are read as one text: those of llama-imatrix. */
const WINDOW_TOKENS = 512;
/** Rows of a pass: all have logits, which are large. */
const PASS_ROWS = 64;
/** Of a text: more changes little and takes hours. */
const TEXT_BYTES_MAX = 8 << 20;
const TOKENS_MIN = 32;
const RENDER_WAIT_MS = 1000;

export interface CalibrationCall {
  readonly model: string;
  /** A text file. */
  readonly text: string;
  /** The matrix that is written. */
  readonly output: string;
  readonly cacheDir: string;
  readonly threads: number;
}

/** Throws an Error with the reason. */
export async function calibrate(native: Native, call: CalibrationCall): Promise<void> {
  const backend = await LlamaBackend.load(native, call.model, optionsOf(call));
  try {
    const windows = windowsOf(tokensOf(backend, readText(call.text)), tokensOf(backend, ""));
    backend.calibration.start(0);
    for (const window of windows) readWindow(backend, window);
    backend.calibration.stop();
    backend.calibration.save(call.output);
  } finally {
    backend.close();
  }
}

function optionsOf({ model, cacheDir, threads }: CalibrationCall): TextOptions {
  return {
    kind: "text",
    modelPath: model,
    cacheDir,
    maxSeqs: 1,
    prefixCacheN: 0,
    contextLen: WINDOW_TOKENS,
    maxSeqLen: WINDOW_TOKENS,
    cacheType: "f16",
    pagedAttn: true,
    threads,
    threadsBatch: threads,
    batch: PASS_ROWS,
    ubatch: PASS_ROWS,
    deviceLayers: 0,
    verbosity: 0,
  };
}

function readText(path: string): string {
  const bytes = Buffer.alloc(TEXT_BYTES_MAX);
  const file = openSync(path, "r");
  try {
    let size = 0;
    for (let read = -1; read !== 0 && size < bytes.length; size += read)
      read = readSync(file, bytes, size, bytes.length - size, null);
    return new TextDecoder("utf-8").decode(bytes.subarray(0, size));
  } finally {
    closeSync(file);
  }
}

function tokensOf(backend: LlamaBackend, text: string): readonly number[] {
  const pending = backend.render({ type: "text", text });
  for (;;) {
    const rendered = pending.take(RENDER_WAIT_MS);
    if (rendered === undefined) continue;
    const tokens = Array.from(rendered.tokens);
    rendered.free();
    return tokens;
  }
}

/** Windows of equal length, each behind the tokens that any text begins with. Throws for a text that is too short. */
function windowsOf(tokens: readonly number[], start: readonly number[]): readonly (readonly number[])[] {
  const begins = start.length < WINDOW_TOKENS && start.every((token, at) => tokens[at] === token);
  const head = begins ? start : [];
  const own = tokens.slice(head.length);
  if (own.length < TOKENS_MIN)
    throw new Error(`the calibration text has ${own.length} tokens; give one of ${TOKENS_MIN} or more`);
  const step = WINDOW_TOKENS - head.length;
  const count = Math.ceil(own.length / step);
  return Array.from({ length: count }, (_, at) => [...head, ...own.slice(at * step, (at + 1) * step)]);
}

function readWindow(backend: LlamaBackend, tokens: readonly number[]): void {
  for (let from = 0; from < tokens.length; from += PASS_ROWS) {
    const token = Int32Array.from(tokens.slice(from, from + PASS_ROWS));
    const columns = {
      token,
      position: token.map((_, at) => from + at),
      slot: new Int32Array(token.length), // the only one
      output: new Int8Array(token.length).fill(1),
    };
    const outcome = backend.decode(columns, token.length);
    if (outcome !== "done")
      throw new Error(`the model could not read the calibration text: ${backend.lastFailure || outcome}`);
  }
  backend.cutSlot(0 as SlotId, 0);
}
