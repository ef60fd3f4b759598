// Loads of models whose headers have impossible values: each ends in an answer or in a sentence, never in a stack of svc or a hang.

import { expect, test } from "bun:test";
import fc from "fast-check";
import { f32Field, int32sField, stringField, u32Field } from "../../src/lora/gguf-write.ts";
import { runBinary } from "../helpers/binary.ts";
import { seedOfRun } from "../helpers/faults.ts";
import { HEADER_KEYS } from "../helpers/header-keys.ts";
import { tinyWith } from "../helpers/tiny-models.ts";

/** A load takes a second. */
const isSlow = process.env["SVC_SLOW_TESTS"] === "1";
const RUNS = isSlow ? Math.ceil(Number(process.env["SVC_FUZZ_RUNS"] ?? "1000") / 20) : 2;
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

test(
  `${RUNS} loads of impossible headers`,
  async () => {
    const property = fc.asyncProperty(field, async (one) => {
      const path = tinyWith("mutant", [one]);
      const { exit, err } = await runBinary(["run", "--local", "-m", path, "Hi"]);
      expect([0, 1]).toContain(exit);
      expect(err).not.toMatch(/assertion failed|^\s+at .+:\d+:\d+/m);
    });
    await fc.assert(property, { numRuns: RUNS, seed: seedOfRun(), endOnFailure: true });
  },
  RUNS * LOAD_MS_MAX,
);
