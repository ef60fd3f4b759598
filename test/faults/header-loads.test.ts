// Loads of models whose headers have impossible values: each ends in an answer or in a sentence, never in a stack of svc or a hang.

import { expect, test } from "bun:test";
import fc from "fast-check";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { f32Field, int32sField, stringField, u32Field } from "../../src/lora/gguf-write.ts";
import { runBinary, TINY_FILE } from "../helpers/binary.ts";
import { seedOfRun } from "../helpers/seed.ts";
import { HEADER_KEYS } from "../helpers/header-keys.ts";
import { tinyWith } from "../helpers/tiny-models.ts";
import { tempDir } from "../helpers/tmp.ts";

/** A load takes half a second: 5,000 of SVC_FUZZ_RUNS need three quarters of an hour. */
const isSlow = process.env["SVC_SLOW_TESTS"] === "1";
const RUNS = isSlow ? Number(process.env["SVC_FUZZ_RUNS"] ?? "250") : 2;
/** Of one load on a busy machine. */
const LOAD_MS_MAX = 60_000;

const KEYS = [
  ...HEADER_KEYS,
  "rope.dimension_count",
  "rope.freq_base",
  "rope.scaling.original_context_length",
  "pooling_type",
  "logit_scale",
].map((key) => `llama.${key}`);
const TOKENS = ["bos", "eos", "eot", "padding"].map((name) => `tokenizer.ggml.${name}_token_id`);
const NUMBERS = [0, 1, 7, 511, 512, 513, 2048, 65_536, 2 ** 31 - 1, 2 ** 31, 2 ** 32 - 1];

const field = fc.oneof(
  fc
    .tuple(fc.constantFrom(...KEYS, ...TOKENS), fc.constantFrom(...NUMBERS))
    .map(([key, value]) => u32Field(key, value)),
  fc
    .tuple(fc.constantFrom(...KEYS), fc.constantFrom(NaN, Infinity, -1, 0, 1e38))
    .map(([key, value]) => f32Field(key, value)),
  fc
    .tuple(fc.constantFrom(...KEYS), fc.nat(600))
    .map(([key, items]) => int32sField(key, Array(items).fill(1))),
  fc
    .tuple(
      fc.constantFrom(
        "general.architecture",
        "tokenizer.ggml.pre",
        "tokenizer.ggml.model",
        "tokenizer.chat_template",
      ),
      fc.constantFrom("", "x", "mamba", "gemma3", "bert", "{{ 1/0 }}", "{% for"),
    )
    .map(([key, value]) => stringField(key, value)),
);

/** Where the numbers of the file are, and where its tensors begin, bytes. */
const AREAS = [4096, 65_536];

/** The built-in model with some other bytes in its header. */
function damaged(changes: readonly (readonly [number, number])[]): string {
  const bytes = readFileSync(TINY_FILE);
  for (const [at, value] of changes) bytes[at] = value;
  const path = join(tempDir(), "damaged.gguf");
  writeFileSync(path, bytes);
  return path;
}

const change = fc.constantFrom(...AREAS).chain((end) => fc.tuple(fc.nat(end), fc.nat(255)));
const mutant = fc.oneof(
  field.map((one) => () => tinyWith("mutant", [one])),
  fc.array(change, { minLength: 1, maxLength: 4 }).map((changes) => () => damaged(changes)),
);

test(
  `${RUNS} loads of impossible headers`,
  async () => {
    const property = fc.asyncProperty(mutant, async (made) => {
      const { exit, err } = await runBinary(["run", "--local", "-m", made(), "Hi"], { limitMs: LOAD_MS_MAX });
      expect([0, 1, 2]).toContain(exit); // 2: it is no GGUF file any more
      expect(err).not.toMatch(/assertion failed|^\s+at .+:\d+:\d+/m);
    });
    await fc.assert(property, { numRuns: RUNS, seed: seedOfRun(), endOnFailure: true });
  },
  RUNS * LOAD_MS_MAX,
);
