import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import type { Compat } from "../../src/core/compat.ts";
import { EMBED_INPUTS_MAX } from "../../src/dialects/shared/limits.ts";
import { parseEmbeddingRequest } from "../../src/dialects/embeddings/request.ts";
import { embeddingBody } from "../../src/dialects/embeddings/response.ts";
import { type Rule, testRules } from "../helpers/rules.ts";

const CLIENTS: Compat = { mode: "clients", hosted: new Set(), note: () => undefined };
const WHOLE = { format: "float" } as const;

describe("request", () => {
  test.each<[unknown, readonly unknown[]]>([
    ["a", ["a"]],
    [["a"], ["a"]],
    [
      ["a", "b"],
      ["a", "b"],
    ],
    [[1, 2], [[1, 2]]],
    [[[1, 2]], [[1, 2]]],
    [
      [[1], [2, 3]],
      [[1], [2, 3]],
    ],
  ])("input %j", (input, inputs) => {
    expect(parseEmbeddingRequest({ input }).request.inputs).toEqual([...inputs] as string[]);
  });

  test("input alone takes all defaults, as do nulls", () => {
    const meaning = {
      request: { model: "default", inputs: ["a"], truncate: false },
      format: "float",
    } as const;
    expect(parseEmbeddingRequest({ input: "a" })).toEqual(meaning);
    const nulls = {
      model: null,
      encoding_format: null,
      dimensions: null,
      truncate_sequence: null,
      user: null,
    };
    expect(parseEmbeddingRequest({ input: "a", ...nulls })).toEqual(meaning);
  });

  test("converts every field; user and unknown fields have no effect", () => {
    const fields = { model: "m", encoding_format: "base64", truncate_sequence: true, user: 5, other: {} };
    expect(parseEmbeddingRequest({ input: "a", ...fields })).toEqual({
      request: { model: "m", inputs: ["a"], truncate: true },
      format: "base64",
    });
  });

  test("accepts inputs up to the limit, and more tokens than that in one input", () => {
    const input = Array(EMBED_INPUTS_MAX).fill("a");
    expect(parseEmbeddingRequest({ input }).request.inputs).toHaveLength(EMBED_INPUTS_MAX);
    const tokens = Array(EMBED_INPUTS_MAX + 1).fill(1);
    expect(parseEmbeddingRequest({ input: tokens }).request.inputs).toEqual([tokens]);
  });
});

const RULES: readonly Rule[] = [
  [{}, "missing_field", "input", "required"],
  [{ input: null }, "invalid_request", "input", "a string or an array", "null"],
  [{ input: 5 }, "invalid_request", "input", "a number"],
  [{ input: "" }, "invalid_request", "input", "empty"],
  [{ input: [] }, "invalid_request", "input", "empty"],
  [{ input: ["a", ""] }, "invalid_request", "input[1]", "empty"],
  [{ input: [[]] }, "invalid_request", "input[0]", "empty"],
  [{ input: [[1], []] }, "invalid_request", "input[1]", "empty"],
  [{ input: ["a", 1] }, "invalid_request", "input[1]", "a string"],
  [{ input: ["a", [1]] }, "invalid_request", "input[1]", "a string", "an array"],
  [{ input: [1, "a"] }, "invalid_request", "input[1]", "an integer"],
  [{ input: [-1] }, "invalid_request", "input[0]", "at least 0"],
  [{ input: [[1, 0.5]] }, "invalid_request", "input[0][1]", "an integer"],
  [{ input: Array(EMBED_INPUTS_MAX + 1).fill("a") }, "invalid_request", "input", `${EMBED_INPUTS_MAX}`],
  [{ input: Array(EMBED_INPUTS_MAX + 1).fill([1]) }, "invalid_request", "input", `${EMBED_INPUTS_MAX}`],
  [{ input: "a", model: 5 }, "invalid_request", "model", "a string"],
  [{ input: "a", encoding_format: "int8" }, "unsupported_value", "encoding_format", '"base64"', '"int8"'],
  [{ input: "a", dimensions: 256 }, "unsupported_value", "dimensions", "omit it"],
  [{ input: "a", dimensions: 0 }, "unsupported_value", "dimensions"],
  [{ input: "a", dimensions: "x" }, "invalid_request", "dimensions"],
  [{ input: "a", truncate_sequence: "yes" }, "invalid_request", "truncate_sequence", "true or false"],
];

describe("refused", () => testRules(parseEmbeddingRequest, RULES));

describe("dimensions, as widely used clients send them", () => {
  const asked = (dimensions: unknown) => parseEmbeddingRequest({ input: "a", dimensions }, CLIENTS);
  const result = {
    vectors: [
      [0.6, 0, 0.8],
      [0, 0, 1],
    ],
    promptTokens: 2,
  };

  test.each([
    [1, [[1], [0]]],
    [
      2,
      [
        [1, 0],
        [0, 0],
      ],
    ],
    [3, result.vectors],
  ])("%d: vectors are cut and normalized again", (dimensions, vectors) => {
    const { data } = embeddingBody(result, "tiny", asked(dimensions));
    expect(data.map(({ embedding }) => embedding)).toEqual(vectors);
  });

  test.each([0, -1])("%d is refused", (dimensions) => {
    expect(() => asked(dimensions)).toThrow("at least 1");
  });

  test("more than the model has is refused, with what it has", () => {
    expect(() => embeddingBody(result, "tiny", asked(4))).toThrow("have 3 numbers");
  });
});

describe("response", () => {
  test("has exactly the documented fields", () => {
    const result = { vectors: [[0.6, 0.8], [1]], promptTokens: 7 };
    expect(embeddingBody(result, "tiny", WHOLE)).toEqual({
      object: "list",
      data: [
        { object: "embedding", index: 0, embedding: [0.6, 0.8] },
        { object: "embedding", index: 1, embedding: [1] },
      ],
      model: "tiny",
      usage: { prompt_tokens: 7, total_tokens: 7 },
    });
  });

  test("base64 encodes little-endian 32-bit floats", () => {
    const { data } = embeddingBody({ vectors: [[1, -2]], promptTokens: 1 }, "tiny", {
      ...WHOLE,
      format: "base64",
    });
    expect(data[0]?.embedding).toBe(Buffer.from([0, 0, 0x80, 0x3f, 0, 0, 0, 0xc0]).toString("base64"));
  });

  test("base64 keeps every 32-bit float", () => {
    const vector = fc.array(fc.float({ noNaN: true }));
    fc.assert(
      fc.property(vector, (values) => {
        const { data } = embeddingBody({ vectors: [values], promptTokens: 1 }, "tiny", {
          ...WHOLE,
          format: "base64",
        });
        const bytes = Uint8Array.from(Buffer.from(String(data[0]?.embedding), "base64"));
        const view = new DataView(bytes.buffer);
        expect(values.map((_, index) => view.getFloat32(index * 4, true))).toEqual(values);
        expect(bytes.length).toBe(values.length * 4);
      }),
    );
  });
});
