// Facts of GGUF files: types of tensors, and whether tensors lie within the file.

import { expect, test } from "bun:test";
import {
  ggufFacts,
  lacksPreTokenizer,
  rangeProblem,
  tensorGroups,
  unknownTensors,
} from "../../src/core/gguf-facts.ts";
import type { Field, GgufHeader } from "../../src/core/gguf.ts";
import { stringField, u32Field } from "../../src/lora/gguf-write.ts";

function header(type: number, elements: number, fileType = 0): GgufHeader {
  const tensor = { name: "a", shape: [elements], type, offset: 100 };
  const field = u32Field("general.file_type", fileType);
  return { fields: new Map([[field.key, field]]), tensors: new Map([["a", tensor]]) };
}

test.each([
  [39, "MXFP4", 64, 34],
  [40, "NVFP4", 128, 72],
  [41, "Q1_0", 256, 36],
  [42, "Q2_0", 128, 36],
])("tensors of type %d are %s: %d elements take %d bytes", (type, name, elements, bytes) => {
  const one = header(type, elements);
  expect(tensorGroups([one])).toEqual([{ type: name, count: 1, bytes }]);
  expect(rangeProblem(one, 100 + bytes)).toBeUndefined();
  expect(rangeProblem(one, 99 + bytes)).toContain('the tensor "a" ends 1 bytes behind the end');
});

test("a tensor of an unknown type is no damage, unless it begins behind the end", () => {
  const one = header(99, 64);
  expect([unknownTensors(one), rangeProblem(one, 101)]).toEqual([1, undefined]);
  expect(rangeProblem(one, 100)).toContain("behind the end");
  expect(unknownTensors(header(40, 64))).toBe(0);
});

test("types of files that svc quantize does not make have names", () => {
  expect(ggufFacts([header(40, 64, 39)]).quantization).toBe("NVFP4");
  expect(ggufFacts([header(39, 32, 38)]).quantization).toBe("MXFP4");
});

test("a vocabulary of byte pairs has to say how text is split", () => {
  const fields = (all: Record<string, string>): ReadonlyMap<string, Field> =>
    new Map(Object.entries(all).map(([key, text]) => [key, stringField(key, text)]));
  const model = "tokenizer.ggml.model";
  expect(lacksPreTokenizer(fields({ [model]: "gpt2" }))).toBe(true);
  expect(lacksPreTokenizer(fields({ [model]: "gpt2", "tokenizer.ggml.pre": "qwen2" }))).toBe(false);
  expect(lacksPreTokenizer(fields({ [model]: "llama" }))).toBe(false);
});
