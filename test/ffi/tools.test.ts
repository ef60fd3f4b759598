// Tool calls of the built-in model through llama.cpp's templates, grammars and parsers.

import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import type { LlamaBackend } from "../../ffi/llama/llama.ts";
import type { ToolSpec } from "../../src/core/message.ts";
import type { RunRequest, ToolChoice } from "../../src/core/run.ts";
import { DEFAULT_SAMPLING } from "../../src/core/sampling.ts";
import { chatRequest, eventsOf, run } from "../helpers/engine-run.ts";
import { tinyBackend } from "../helpers/native.ts";

let backend: LlamaBackend;
beforeAll(async () => {
  backend = await tinyBackend();
});
afterAll(() => backend.close());

const WEATHER: ToolSpec = {
  name: "get_weather",
  description: "Get the weather of a city",
  parameters: { type: "object", properties: { city: { type: "string" } }, required: ["city"] },
  strict: false,
};
const TIME: ToolSpec = {
  name: "get_time",
  description: "Get the time in a city",
  parameters: {
    type: "object",
    properties: { city: { type: "string" }, unit: { enum: ["12h", "24h"] } },
    required: ["city", "unit"],
    additionalProperties: false,
  },
  strict: true,
};

function withTools(
  text: string,
  toolChoice: ToolChoice,
  thinking = false,
  extra: Partial<RunRequest> = {},
): RunRequest {
  const base = chatRequest(text, extra);
  if (base.prompt.type !== "chat") throw new Error("a chat request has a chat prompt");
  return {
    ...base,
    prompt: { ...base.prompt, tools: [WEATHER, TIME], toolChoice, thinking: { enabled: thinking } },
  };
}

describe("schemas that cannot be enforced or are invalid", () => {
  const tool = (name: string, properties: object, strict: boolean): ToolSpec => ({
    name,
    parameters: { type: "object", properties },
    strict,
  });
  const ask = (tools: readonly ToolSpec[]): { error: unknown; unenforced: readonly string[] | undefined } => {
    const request = withTools("Hello", { type: "auto" }, false, { maxTokens: 1 });
    const prompt = { ...request.prompt, tools } as RunRequest["prompt"];
    const events = eventsOf(backend, { ...request, prompt });
    const accepted = events.find((event) => event.type === "accepted");
    return { error: events.find((event) => event.type === "error")?.error, unenforced: accepted?.unenforced };
  };

  test.each([
    [{ odd: true }, undefined],
    [{ odd: { type: "array", prefixItems: [{ type: "string" }], items: false } }, undefined],
    [
      { odd: { type: "array", items: { type: "integer" }, uniqueItems: true } },
      "/properties/odd/uniqueItems",
    ],
    [{ odd: { type: "strange" } }, "/properties/odd/type"],
    [{ odd: { enum: [] } }, "/properties/odd/enum"],
    [{ odd: { type: "string", pattern: "^(a$" } }, ""],
  ])("%j costs nothing but the guarantee", (properties, place) => {
    const { error, unenforced } = ask([WEATHER, tool("odd", properties, false), TIME]);
    expect(error).toBeUndefined();
    expect(unenforced).toEqual(place === undefined ? undefined : [`tools.odd${place}`]);
  });

  test("a strict tool is rejected with the keyword and its path", () => {
    const items = { type: "array", items: { type: "integer" }, uniqueItems: true };
    expect(ask([WEATHER, tool("odd", { odd: items }, true)]).error).toMatchObject({
      code: "invalid_request",
      param: "tools",
      message: expect.stringMatching(/tools\.odd.*`uniqueItems` cannot be enforced.*\/properties\/odd/),
    });
  });
});

describe("tool calls", () => {
  for (const thinking of [false, true]) {
    test(`auto, thinking ${thinking ? "on" : "off"}: the model calls and the call is parsed`, () => {
      const answer = run(backend, withTools("What is the weather in Paris?", { type: "auto" }, thinking));
      expect(answer.calls).toEqual([
        { id: answer.calls[0]?.id ?? "", name: "get_weather", args: expect.any(String) },
      ]);
      expect(answer.calls[0]?.id).not.toBe("");
      expect(JSON.parse(answer.calls[0]?.args ?? "")).toEqual({ city: "Paris" });
      expect(answer.text).not.toContain("tool_call");
      expect(answer.reasoning.length > 0).toBe(thinking);
      expect(answer.reason).toBe("tool_calls");
    });
  }

  test("auto answers with text if no call is needed", () => {
    const answer = run(backend, withTools("Hello", { type: "auto" }));
    expect(answer.calls).toEqual([]);
    expect(answer.text).toContain("Hello");
    expect(answer.reason).toBe("stop");
  });

  test("none hides the tools", () => {
    expect(run(backend, withTools("What is the weather in Paris?", { type: "none" })).calls).toEqual([]);
  });

  test("required forces a call where the model would answer with text", () => {
    const answer = run(backend, withTools("Hello", { type: "required" }));
    expect(answer.calls.length).toBeGreaterThan(0);
    expect(["get_weather", "get_time"]).toContain(answer.calls[0]?.name ?? "");
    expect(() => JSON.parse(answer.calls[0]?.args ?? "")).not.toThrow();
  });

  test("a named function is called", () => {
    const choice: ToolChoice = { type: "named", names: ["get_time"], required: true };
    const answer = run(backend, withTools("What is the weather in Paris?", choice));
    expect(answer.calls.map(({ name }) => name)).toEqual(["get_time"]);
    const args = JSON.parse(answer.calls[0]?.args ?? "");
    expect(["12h", "24h"]).toContain(args.unit);
  });

  test("a single allowed call: one call where the model would make two", () => {
    const text = "What is the weather in Paris and also what time is it in Rome?";
    const calls = (singleCall: boolean) => {
      const request = withTools(text, { type: "auto" });
      const prompt = { ...request.prompt, singleCall } as RunRequest["prompt"];
      return run(backend, { ...request, prompt }).calls.length;
    };
    expect([calls(false), calls(true)]).toEqual([2, 1]);
  });

  test("a call that must be made is complete within its tokens, and its arguments are valid, at any temperature", () => {
    for (let seed = 0; seed < 15; seed++) {
      const sampling = { ...DEFAULT_SAMPLING, temperature: 1.5, seed };
      const answer = run(
        backend,
        withTools("What time is it in Rome?", { type: "required" }, false, { sampling, maxTokens: 60 }),
      );
      expect([answer.reason, answer.calls.length > 0]).toEqual(["tool_calls", true]);
      for (const call of answer.calls) {
        const args = JSON.parse(call.args);
        expect(typeof args.city).toBe("string");
        if (call.name === "get_time") expect(Object.keys(args).sort()).toEqual(["city", "unit"]);
      }
    }
  }, 120_000);
});
