// The official clients against the compiled executable and the built-in model. What they do with answers that a test
// chooses is in test/compat.

import { describe, expect, test } from "bun:test";
import { validator } from "../helpers/ajv.ts";
import { fileServer } from "../helpers/binary.ts";
import { CAPITAL } from "../helpers/chat-client.ts";
import { CHAT_CLIENTS, OFFICIAL_CLIENTS } from "../helpers/official/all.ts";
import { WEATHER } from "../helpers/official/client.ts";

const server = fileServer();
const baseUrl = () => `${server().url}/v1`;

/** Nested, with an optional part, and short at its longest. */
const SCHEMA = {
  type: "object",
  properties: {
    name: { type: "string", minLength: 1, maxLength: 12 },
    age: { type: "integer", minimum: 0, maximum: 150 },
    pets: {
      type: "array",
      maxItems: 2,
      items: {
        type: "object",
        properties: { kind: { enum: ["cat", "dog"] }, born: { type: "string", format: "date" } },
        required: ["kind"],
        additionalProperties: false,
      },
    },
  },
  required: ["name", "age", "pets"],
  additionalProperties: false,
};

const HOW = [
  ["whole", false],
  ["streamed", true],
] as const;

/** What a client keeps of a schema: the AI SDK leaves bounds out of those that it sends in the messages dialect. */
const keptOf = (client: string) => (client === "ai Messages" ? { required: SCHEMA.required } : SCHEMA);

describe.each(CHAT_CLIENTS)("%s", (name, connect) => {
  const client = () => connect(baseUrl());

  describe.each(HOW)("%s", (_how, stream) => {
    test("text, and why it ended", async () => {
      const said = await client().ask(CAPITAL.content, { stream });
      expect(said).toMatchObject({ text: CAPITAL.answer, calls: [], reason: "stop" });
      expect(said.inputTokens).toBeGreaterThan(5);
      expect(said.outputTokens).toBeGreaterThan(5);
      const cut = await client().ask(CAPITAL.content, { stream, maxTokens: 3 });
      expect(cut).toMatchObject({ reason: "length", outputTokens: 3 });
    });

    test("a tool that must be called is called", async () => {
      const { calls, reason } = await client().ask("Hello", { stream, tools: "required" });
      expect(reason).toBe("tool_calls");
      expect(calls).not.toHaveLength(0);
      for (const call of calls) {
        expect(call.name).toBe(WEATHER.name);
        expect(validator("weather", WEATHER.parameters)(call.args)).toBe("");
      }
    });

    test("a tool's result is used", async () => {
      const { text, calls, reason } = await client().roundTrip("What is the weather in Paris?", stream);
      expect({ text, calls, reason }).toEqual({
        text: expect.stringContaining("sunny in Paris"),
        calls: [],
        reason: "stop",
      });
    });

    test("structured output follows its schema", async () => {
      const value = await client().structured("Give me an example.", SCHEMA, stream);
      expect(validator("example", keptOf(name))(value)).toBe("");
    });
  });
});

describe.each(OFFICIAL_CLIENTS)("%s", (_, connect) => {
  test.each(HOW)("a text is continued, %s", async (_how, stream) => {
    expect(await connect(baseUrl()).complete("Once upon a time", 8, stream)).not.toBe("");
  });

  test("embeddings: unit vectors in the order of the texts", async () => {
    const [cat, again, city] = await connect(baseUrl()).embed(["a cat", "a cat", "the capital of France"]);
    expect(Math.hypot(...(cat ?? []))).toBeCloseTo(1, 3);
    expect(again).toEqual(cat ?? []);
    expect(city).not.toEqual(cat ?? []);
  });
});
