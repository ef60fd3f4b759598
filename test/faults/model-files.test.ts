// Model files that are broken in ways for which llama.cpp ends its process: the operator is told which field it is.

import { expect, test } from "bun:test";
import { stringField, u32Field } from "../../src/lora/gguf-write.ts";
import type { Field } from "../../src/core/gguf.ts";
import { runBinary } from "../helpers/binary.ts";
import { tinyWith } from "../helpers/tiny-models.ts";

const BROKEN = "the model could not be loaded: its file is damaged: ";

test.each<[string, Field, string]>([
  ["no layers", u32Field("llama.block_count", 0), `${BROKEN}llama.block_count is 0, not 1 to 512`],
  [
    "an unknown scaling",
    stringField("llama.rope.scaling.type", "x"),
    `${BROKEN}llama.rope.scaling.type is not one of none, linear, yarn, longrope`,
  ],
  [
    "no vocabulary",
    stringField("tokenizer.ggml.model", "no_vocab"),
    `${BROKEN}tokenizer.ggml.model is no_vocab: there is no vocabulary`,
  ],
  ["weights that lie askew", u32Field("general.alignment", 8), `${BROKEN}its weights begin at byte `],
])(
  "%s",
  async (name, field, message) => {
    const path = tinyWith(name.replaceAll(" ", "-"), [field]);
    const { exit, err } = await runBinary(["serve", "--model", path, "--host", "127.0.0.1", "--port", "0"]);
    expect(exit).toBe(1);
    expect(err).toContain(`svc: ${name.replaceAll(" ", "-")}: ${message}`);
  },
  60_000,
);
