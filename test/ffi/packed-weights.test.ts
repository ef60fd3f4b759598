// Products with weights of every type that is packed on loading (ffi/kernels/packed_gemm.h), seen from
// what the model makes of them. On processors without AVX2 the library's other ways are tested in the same manner.

import { beforeAll, describe, expect, test } from "bun:test";
import { copyFileSync, existsSync, readFileSync, renameSync } from "node:fs";
import { join } from "node:path";
import type { LlamaBackend } from "../../ffi/llama/llama.ts";
import { quantizeFile } from "../../ffi/llama/quantize.ts";
import { fileTypeNumber, type FileType } from "../../src/core/quantization.ts";
import type { RowLogprobs } from "../../src/worker/text/backend.ts";
import { takeText } from "../../ffi/text.ts";
import { native, TINY_PATH, tinyBackend } from "../helpers/native.ts";
import { tinyExperts } from "../helpers/tiny-experts.ts";
import { tempDir } from "../helpers/tmp.ts";

const TOKENS = [9, 300, 41, 77, 512, 1024, 64, 700, 33, 250, 801, 12, 90, 640, 5, 421];
const TOP = 20;

/** The most likely tokens after each first token, all computed in one pass. */
function afterEach(backend: LlamaBackend, tokens: readonly number[]): RowLogprobs[] {
  const columns = {
    token: Int32Array.from(tokens),
    position: new Int32Array(tokens.length),
    slot: Int32Array.from(tokens, (_, i) => i),
    output: new Int8Array(tokens.length).fill(1),
  };
  expect(backend.decode(columns, tokens.length)).toBe("done");
  const found = tokens.map((_, row) => backend.logprobs(row, 0, TOP));
  tokens.forEach((_, slot) => backend.cutSlot(slot as Parameters<LlamaBackend["cutSlot"]>[0], 0));
  return found;
}

/** How far apart two rows are: the largest difference at tokens that are likely in the second, in nats; infinite if one is missing. */
function distance(row: RowLogprobs, wanted: RowLogprobs | undefined): number {
  const found = new Map(row.top.map(({ token, logprob }) => [token, logprob]));
  const likely = wanted?.top.slice(0, 3) ?? [];
  expect(likely).toHaveLength(3);
  return Math.max(...likely.map(({ token, logprob }) => Math.abs((found.get(token) ?? -Infinity) - logprob)));
}

/** llama_ftype of MXFP4 in the weights of experts, Q8_0 in the others: not among the names that svc offers. */
const MXFP4_MOE = 38;

interface Model {
  readonly name: string;
  readonly path: string;
}

/** Quantized models; test/ring.sh names a folder for all processes: quantizing takes longer than the tests. */
const QUANTIZED = process.env.SVC_TEST_QUANTIZED ?? tempDir();

async function backendOf(model: Model, type: FileType | "MXFP4_MOE"): Promise<LlamaBackend> {
  const path = join(QUANTIZED, `${model.name} ${type}.gguf`);
  if (!existsSync(path)) {
    const number = type === "MXFP4_MOE" ? MXFP4_MOE : fileTypeNumber(type);
    const call = { input: model.path, type: number, threads: 1, quiet: true };
    const output = join(tempDir(), "quantized.gguf");
    expect(quantizeFile(native(), { ...call, output, importance: undefined })).toBeUndefined();
    const part = `${path}.${process.pid}`;
    copyFileSync(output, part);
    renameSync(part, path);
  }
  return tinyBackend({}, path);
}

// How far a type may take a model from itself at the median token, in nats: what rounding the weights to so few bits costs,
// generously; a wrong product would leave nothing in common.
const TYPES = [
  ["F16", 0.15],
  ["BF16", 0.15],
  ["Q8_0", 0.05],
  ["Q6_K", 0.5],
  ["Q5_K_S", 0.7],
  ["Q4_K_S", 1],
  ["Q4_1", 1.2],
  ["Q4_0", 1.2],
  ["IQ4_XS", 1.2],
  ["IQ4_NL", 1.2],
  ["MXFP4_MOE", 1.2],
  ["IQ3_S", 2],
  ["Q5_0", 0.7],
  ["Q5_1", 0.7],
  ["Q3_K_S", 2],
  ["Q2_K", 3],
] as const;

describe.each([
  ["one network", () => TINY_PATH, 0],
  // Tokens are sent to experts by a product of F32 weights, which is llama.cpp's own and differs in the last bit.
  ["a mixture of experts", tinyExperts, 1e-4],
] as const)("weights of each type, %s", (name, pathOf, tolerance) => {
  let model: Model;
  let wanted: readonly RowLogprobs[];
  beforeAll(async () => {
    model = { name, path: pathOf() };
    const exact = await tinyBackend({}, model.path);
    wanted = afterEach(exact, TOKENS);
    exact.close();
  });

  test.each(TYPES)(
    "%s: a row does not depend on those beside it, and the model stays itself",
    async (type, most) => {
      const backend = await backendOf(model, type);
      try {
        const together = afterEach(backend, TOKENS);
        for (const count of [1, 2, 3, 5, 8, 9])
          afterEach(backend, TOKENS.slice(0, count)).forEach((row, i) => {
            if (tolerance === 0) expect(row).toEqual(together[i] as RowLogprobs);
            else expect(distance(row, together[i])).toBeLessThan(tolerance);
          });
        const errors = together.map((row, i) => distance(row, wanted[i])).sort((a, b) => a - b);
        expect(errors[TOKENS.length >> 1]).toBeLessThan(most);
      } finally {
        backend.close();
      }
    },
  );
});

/** Mapped and resident kilobytes of a file in this process. */
function mapped(path: string): { readonly size: number; readonly resident: number } {
  let [isFile, size, resident] = [false, 0, 0];
  for (const line of readFileSync("/proc/self/smaps", "utf8").split("\n")) {
    const [, field, kilobytes] = /^(\w+): +(\d+) kB/.exec(line) ?? [];
    if (field === undefined && /^[0-9a-f]+-/.test(line)) isFile = line.endsWith(path);
    if (isFile && field === "Size") size += Number(kilobytes);
    if (isFile && field === "Rss") resident += Number(kilobytes);
  }
  return { size, resident };
}

const { kernels } = JSON.parse(takeText(native(), native().svc_system_info()));
const packs = process.platform === "linux" && (kernels as string[]).includes("packed-gemm");

test.skipIf(!packs)("the file's pages of packed weights are released after loading", async () => {
  const path = join(tempDir(), "released.gguf");
  const call = {
    input: TINY_PATH,
    type: fileTypeNumber("F16"),
    threads: 1,
    quiet: true,
    importance: undefined,
  };
  expect(quantizeFile(native(), { ...call, output: path })).toBeUndefined();
  const backend = await tinyBackend({}, path);
  const { size, resident } = mapped(path);
  expect(size).toBeGreaterThan(4000);
  expect(resident).toBeLessThan(size / 8); // few rows of the token table are read
  const row = afterEach(backend, TOKENS).at(-1);
  expect(row?.top).toHaveLength(TOP);
  backend.close();
});
