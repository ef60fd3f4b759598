// What all official clients do, each through its own classes. What one of them alone does is in the file of its name.

import { describe, expect, test } from "bun:test";
import { STRUCTURED, TOOL_ARGS } from "../helpers/fake-model.ts";
import { fakeServer } from "../helpers/listening.ts";
import { CHAT_CLIENTS, OFFICIAL_CLIENTS } from "../helpers/official/all.ts";
import { WEATHER } from "../helpers/official/client.ts";

const server = fakeServer();
const TOKENS = { inputTokens: 12, outputTokens: 8 };
const SCHEMA = {
  type: "object",
  properties: { name: { type: "string" }, age: { type: "number" } },
  required: ["name", "age"],
  additionalProperties: false,
};

const HOW = [
  ["whole", false],
  ["streamed", true],
] as const;

describe.each(CHAT_CLIENTS)("%s", (_, connect) => {
  const client = () => connect(server.baseUrl());

  describe.each(HOW)("%s", (_how, stream) => {
    test("text, with token counts", async () => {
      const said = await client().ask("Hi", { stream, maxTokens: 9 });
      expect(said).toEqual({ text: "You said Hi", calls: [], reason: "stop", ...TOKENS });
      expect(server.lastRequest()).toMatchObject({ maxTokens: 9, sampling: { temperature: 0 } });
    });

    test("a tool that must be called", async () => {
      const { calls, reason } = await client().ask("Hi", { stream, tools: "required" });
      expect({ calls, reason }).toEqual({
        calls: [{ name: WEATHER.name, args: TOOL_ARGS }],
        reason: "tool_calls",
      });
      expect(server.lastRequest()?.prompt).toMatchObject({
        toolChoice: { type: "required" },
        tools: [{ name: WEATHER.name, description: WEATHER.description }],
      });
    });

    test("a tool's result is sent back", async () => {
      const { text, calls } = await client().roundTrip("the weather?", stream);
      expect({ text, calls }).toEqual({ text: `The tool says ${WEATHER.run(TOOL_ARGS)}`, calls: [] });
    });

    test("structured output", async () => {
      expect(await client().structured("Who?", SCHEMA, stream)).toEqual(STRUCTURED);
      expect(server.lastRequest()?.constraint).toMatchObject({ type: "json_schema", schema: SCHEMA });
    });
  });
});

describe.each(OFFICIAL_CLIENTS)("%s", (_, connect) => {
  test.each(HOW)("completions, %s", async (_how, stream) => {
    expect(await connect(server.baseUrl()).complete("Once", 5, stream)).toBe(" and so on");
    expect(server.lastRequest()?.maxTokens).toBe(5);
  });

  test("embeddings", async () => {
    expect(await connect(server.baseUrl()).embed(["a", "bcd"])).toEqual([
      [0, 1],
      [1, 3],
    ]);
  });
});
