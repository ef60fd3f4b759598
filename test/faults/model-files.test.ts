// Model files that are broken in ways for which llama.cpp ends its process: the operator is told which field it is, or at
// least that it is the file.

import { expect, test } from "bun:test";
import { stringField, u32Field } from "../../src/lora/gguf-write.ts";
import type { Field } from "../../src/core/gguf.ts";
import { runBinary } from "../helpers/binary.ts";
import { tinyWith } from "../helpers/tiny-models.ts";

/** ggml calls a debugger, where there is one, to say where it ended. */
const DEATH_MS_MAX = 60_000;

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
  [
    "weights that lie askew",
    u32Field("general.alignment", 8),
    "the engine process ended while loading (signal SIGABRT); the model's file is probably damaged or not supported; copy or download it again; earlier log lines may have details",
  ],
])(
  "%s",
  async (name, field, message) => {
    const path = tinyWith(name.replaceAll(" ", "-"), [field]);
    const { exit, err } = await runBinary(["serve", "--model", path, "--host", "127.0.0.1", "--port", "0"]);
    expect(exit).toBe(1);
    expect(err).toContain(`svc: ${name.replaceAll(" ", "-")}: ${message}`);
  },
  DEATH_MS_MAX,
);
