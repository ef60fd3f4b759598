// Headers with impossible numbers: whoever computes with them (estimates, facts, checks) ends at once, with numbers or with an error.

import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { readFileSync, truncateSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { copiedEmbeddingBytes } from "../../ffi/llama/tied-embedding.ts";
import {
  type Field,
  FIELD,
  finish,
  type GgufHeader,
  headerSteps,
  readFirstFields,
} from "../../src/core/gguf.ts";
import { ggufFacts, metadataLines, rangeProblem, tensorGroups } from "../../src/core/gguf-facts.ts";
import { knowHeaders, readGgufHeader } from "../../src/core/gguf-file.ts";
import { fieldProblem } from "../../src/core/model-problem.ts";
import { passWork, readWork } from "../../src/core/model-work.ts";
import { cacheLayers } from "../../src/engine/cache-layers.ts";
import { claimsOf } from "../../src/engine/claims.ts";
import { checkMemory, type EstimatedFile, memoryEstimate, tokenTable } from "../../src/engine/memory-fit.ts";
import { packedGrowth } from "../../src/engine/packed-growth.ts";
import { describeAdapter } from "../../src/lora/convert.ts";
import { stringField, u32Field, writeGguf } from "../../src/lora/gguf-write.ts";
import { checkGguf } from "../../src/core/gguf-check.ts";
import { seedOfRun } from "../helpers/seed.ts";
import { HEADER_KEYS } from "../helpers/header-keys.ts";
import { TEXT_OPTIONS } from "../helpers/text-options.ts";
import { tempDir } from "../helpers/tmp.ts";

const RUNS = Number(process.env["SVC_FUZZ_RUNS"] ?? "300");
/** Of one consumer; sound headers take a thousandth of it. */
const CONSUMER_MS_MAX = 2000;
const FILE = join(tempDir(), "model.gguf");

/** How architectures count layers: attention, windows, states, networks alone, latent attention. */
const ARCHITECTURES = [
  "llama",
  "gemma3",
  "mamba",
  "jamba",
  "lfm2",
  "nemotron_h",
  "qwen35",
  "rwkv7",
  "deepseek2",
  "gpt-oss",
];
const KEYS = [
  "decoder_block_count",
  ...HEADER_KEYS,
  "attention.sliding_window_pattern",
  "attention.recurrent_layers",
  "full_attention_interval",
  "ssm.state_size",
  "ssm.conv_kernel",
  "wkv.head_size",
  "shortconv.l_cache",
];
const NUMBERS = [
  0n,
  1n,
  2n,
  511n,
  512n,
  513n,
  65_536n,
  0x7fff_ffffn,
  0xffff_ffffn,
  1n << 40n,
  1n << 53n,
  (1n << 64n) - 1n,
];

function numberField(key: string, value: bigint, type: number): Field {
  const raw = Buffer.alloc(type === FIELD.u64 ? 8 : 4);
  if (type === FIELD.u64) raw.writeBigUInt64LE(value);
  else raw.writeUInt32LE(Number(BigInt.asUintN(32, value)));
  return { key, type, raw };
}

/** A list that says how many items it has, and has up to 600. */
function listField(key: string, value: bigint, itemType: number): Field {
  const size = itemType === FIELD.bool ? 1 : 4;
  const raw = Buffer.alloc(12 + Number(value > 600n ? 600n : value) * size, 0xff);
  raw.writeUInt32LE(itemType, 0);
  raw.writeBigUInt64LE(value, 4);
  return { key, type: FIELD.array, raw };
}

const change = fc
  .record({
    key: fc.constantFrom(...KEYS),
    value: fc.constantFrom(...NUMBERS),
    type: fc.constantFrom(FIELD.u32, FIELD.u64, FIELD.i32, FIELD.f32, FIELD.array),
    itemType: fc.constantFrom(FIELD.u32, FIELD.i32, FIELD.bool),
  })
  .map(({ key, value, type, itemType }) =>
    type === FIELD.array ? listField(key, value, itemType) : numberField(key, value, type),
  );

const mutant = fc.record({
  architecture: fc.constantFrom(...ARCHITECTURES),
  changes: fc.array(change, { minLength: 1, maxLength: 4 }),
  axes: fc.array(fc.constantFrom(0, 1, 256, 2 ** 31, 2 ** 40), { maxLength: 4 }),
  offset: fc.constantFrom(0n, 1n << 62n, (1n << 64n) - 1n),
});
type Mutant = typeof mutant extends fc.Arbitrary<infer T> ? T : never;

function write({ architecture, changes, axes, offset }: Mutant): void {
  const own = new Map<string, Field>();
  for (const key of KEYS.slice(0, 6)) own.set(key, u32Field(key, 4));
  for (const field of changes) own.set(field.key, field);
  const fields = [...own.values()].map((field) => ({ ...field, key: `${architecture}.${field.key}` }));
  writeGguf(FILE, [stringField("general.architecture", architecture), ...fields], []);
  const head = Buffer.from(readFileSync(FILE));
  const name = Buffer.from("blk.0.attn_k.weight");
  const tensor = Buffer.alloc(8 + name.length + 4 + axes.length * 8 + 12);
  tensor.writeBigUInt64LE(BigInt(name.length));
  name.copy(tensor, 8);
  tensor.writeUInt32LE(axes.length, 8 + name.length);
  axes.forEach((axis, i) => tensor.writeBigUInt64LE(BigInt(axis), 12 + name.length + i * 8));
  tensor.writeBigUInt64LE(offset, tensor.length - 8);
  head.writeBigUInt64LE(1n, 8);
  writeFileSync(FILE, Buffer.concat([head, tensor, Buffer.alloc(64)]));
}

const FREE = 8 * 2 ** 30;
const OPTIONS = { ...TEXT_OPTIONS, modelPath: FILE };

const estimatedFile = (header: GgufHeader): EstimatedFile => ({
  metadata: header.fields,
  weightBytes: 1e9,
  options: TEXT_OPTIONS,
  table: tokenTable([header]),
});

/** Everything that computes with a header, as show, verify, doctor, tune, the listing, the hub's routes and loads do. */
const CONSUMERS: Readonly<Record<string, () => unknown>> = {
  facts: () => ggufFacts([readGgufHeader(FILE)]),
  groups: () => tensorGroups([readGgufHeader(FILE)]),
  metadata: () => metadataLines(readGgufHeader(FILE).fields),
  range: () => rangeProblem(readGgufHeader(FILE), 1e9),
  layers: () => cacheLayers(readGgufHeader(FILE).fields),
  "estimate of a file": () => memoryEstimate(estimatedFile(readGgufHeader(FILE)), FREE),
  "estimate of a repository": () =>
    memoryEstimate(estimatedFile({ fields: firstFields(), tensors: new Map() }), FREE),
  claims: () => claimsOf({ ...OPTIONS, kind: "text" }, FREE)(undefined),
  memory: () => checkMemory({ ...OPTIONS, kind: "text" }, FREE),
  growth: () => packedGrowth(FILE),
  work: () => passWork(readWork(FILE), { rows: 2, outputs: 1, seen: 10, read: 10 }),
  embedding: () => copiedEmbeddingBytes(FILE),
  adapter: () => describeAdapter(FILE),
  check: () => checkGguf(FILE),
};

function firstFields(): ReadonlyMap<string, Field> {
  const fields = readFirstFields(readFileSync(FILE));
  if (fieldProblem(fields) !== undefined) throw new Error("refused");
  return fields;
}

test(
  `${RUNS} headers with impossible numbers`,
  () => {
    let ended = 0;
    const property = fc.property(mutant, (one) => {
      write(one);
      for (const [name, consume] of Object.entries(CONSUMERS)) {
        const start = performance.now();
        try {
          consume();
          ended++;
        } catch (error) {
          expect(error).toBeInstanceOf(Error);
          expect(error).not.toBeInstanceOf(RangeError);
          expect(error).not.toBeInstanceOf(TypeError);
        }
        expect(performance.now() - start, name).toBeLessThan(CONSUMER_MS_MAX);
      }
    });
    fc.assert(property, { numRuns: RUNS, seed: seedOfRun() });
    expect(ended).toBeGreaterThan(RUNS);
  },
  60_000 + RUNS * 100,
);

describe("large headers", () => {
  const zeros = (bytes: number, fields: number): void => {
    const head = Buffer.alloc(24);
    head.write("GGUF");
    head.writeUInt32LE(3, 4);
    head.writeBigUInt64LE(BigInt(fields), 16);
    writeFileSync(FILE, head);
    truncateSync(FILE, bytes);
  };

  test.each([
    [1 << 28, 20_000_000, "metadata fields, more than"],
    [1 << 28, 16_000, "without a key"],
  ])("%i bytes of zeros with %i fields are refused at once", async (bytes, fields, problem) => {
    zeros(bytes, fields);
    const start = performance.now();
    await knowHeaders([FILE]);
    expect(() => readGgufHeader(FILE)).toThrow(problem);
    expect(performance.now() - start).toBeLessThan(CONSUMER_MS_MAX);
  });

  test("a list of millions of texts is read with pauses, and its items are not kept", async () => {
    const items = 3_000_000;
    writeGguf(FILE, [stringField("general.architecture", "llama"), listField("texts", 0n, FIELD.string)], []);
    const head = Buffer.from(readFileSync(FILE)).subarray(0, -1);
    const at = head.lastIndexOf(Buffer.from([9, 0, 0, 0, 8, 0, 0, 0])) + 8;
    head.writeBigUInt64LE(BigInt(items), at);
    writeFileSync(FILE, head.subarray(0, at + 8));
    truncateSync(FILE, at + 8 + items * 8);
    let turns = 0;
    const timer = setInterval(() => turns++, 1);
    await knowHeaders([FILE]);
    clearInterval(timer);
    expect(turns).toBeGreaterThan(2);
    expect(readGgufHeader(FILE).fields.get("texts")?.raw.byteLength).toBe(12);
    expect(finish(headerSteps(readFileSync(FILE))).tensors.size).toBe(0);
  });

  test("a file that has changed is read again", () => {
    writeGguf(FILE, [stringField("general.architecture", "llama")], []);
    expect(readGgufHeader(FILE).fields.size).toBe(1);
    writeGguf(
      FILE,
      [stringField("general.architecture", "llama"), u32Field("llama.block_count", 2 ** 31)],
      [],
    );
    expect(() => readGgufHeader(FILE)).toThrow("llama.block_count is 2147483648, not 1 to 512");
  });
});
