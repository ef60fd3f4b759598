// Upstreams that do not stop: every answer has a bound, ends in one error, and the connection ends with it.

import { describe, expect, onTestFinished, test } from "bun:test";
import { SERVER } from "../../src/core/caller.ts";
import { chunk } from "../helpers/fake-upstream.ts";
import { until } from "../helpers/until.ts";
import { all, chat, errorOf, modelOn, NEVER, textOf } from "../helpers/upstream-model.ts";

/** A server whose answers go on for ever: each piece of the stream is `next(number)`. */
function endless(next: (number: number) => object) {
  const state = { left: 0 };
  const server = Bun.serve({
    port: 0,
    hostname: "127.0.0.1",
    fetch: (request) => {
      if (request.method === "GET")
        return Response.json({ object: "list", data: [{ id: "m", owned_by: "vllm" }] });
      let sent = 0;
      const pull = (controller: ReadableStreamDefaultController<string>): void => {
        let text = "";
        for (let i = 0; i < 64; i++) text += `data: ${JSON.stringify(next(sent++))}\n\n`;
        controller.enqueue(text);
      };
      const body = new ReadableStream({ pull, cancel: () => void state.left++ });
      return new Response(body, { headers: { "content-type": "text/event-stream" } });
    },
  });
  onTestFinished(() => server.stop(true));
  return { url: `http://127.0.0.1:${server.port}/v1`, state };
}

const LONG = "x".repeat(10_000);
const call = (index: number, args: string, name = "look", id = `c${index}`) =>
  chunk({ tool_calls: [{ index, id, function: { name, arguments: args } }] });
const args = (text: string, first: boolean) =>
  chunk({
    tool_calls: [
      first
        ? { index: 0, id: "c", function: { name: "look", arguments: text } }
        : { index: 0, function: { arguments: text } },
    ],
  });

describe("an answer without an end", () => {
  test.each<[string, (number: number) => object, string]>([
    ["of text", () => chunk({ content: "word " }), "more than an answer of 100 tokens can hold"],
    ["of reasoning", () => chunk({ reasoning_content: LONG }), "more than an answer of 100 tokens can hold"],
    ["of arguments", (number) => args(LONG, number === 0), "more than an answer of 100 tokens can hold"],
    ["of calls", (number) => call(number, "{}"), "more than 1024 tool calls"],
    ["of calls with one index", (number) => call(0, "{}", "look", `c${number}`), "more than 1024 tool calls"],
    [
      "of names",
      (number) => call(0, "", LONG + String(number)),
      "more than an answer of 100 tokens can hold",
    ],
    [
      "of fields that go back",
      () => chunk({ signature: LONG }),
      "more than an answer of 100 tokens can hold",
    ],
    ["of nothing", () => chunk({}), "more than an answer of 100 tokens can hold"],
    [
      "of choices that were not asked for",
      () => ({ choices: [{ index: 7, delta: { content: LONG } }] }),
      "can hold",
    ],
    ["of no choices", () => ({ choices: [] }), "more than an answer of 100 tokens can hold"],
  ])("%s ends in one error", async (_, next, words) => {
    const server = endless(next);
    const { model } = modelOn([server]);
    const events = await all(model.generate(chat({ maxTokens: 100 }), NEVER, SERVER));
    expect(errorOf(events)).toMatchObject({
      code: "upstream_failed",
      message: expect.stringContaining(words),
    });
    expect(events.filter(({ type }) => type === "error" || type === "finish")).toHaveLength(1);
    await until("its connection is closed", () => server.state.left === 1);
  });

  test("has a bound without max_tokens, too", async () => {
    const server = endless(() => chunk({ content: "x".repeat(1 << 20) }));
    const { model } = modelOn([server]);
    const events = await all(model.generate(chat(), NEVER, SERVER));
    expect(errorOf(events)?.message).toContain("more than an answer of 33554432 characters can hold");
    expect(textOf(events).length).toBeLessThanOrEqual(2 ** 25);
  });

  test("after its end is an answer all the same", async () => {
    const server = endless((number) =>
      number === 0 ? chunk({ content: "Hello." }, "stop") : chunk({ content: LONG }),
    );
    const { model } = modelOn([server]);
    const events = await all(model.generate(chat({ maxTokens: 100 }), NEVER, SERVER));
    expect(events.at(-1)?.type).toBe("finish");
    await until("its connection is closed", () => server.state.left === 1);
  });
});

test("long answers within their limit are whole: long tokens, much reasoning, many calls", async () => {
  const pieces = [
    ...Array.from({ length: 1000 }, () => chunk({ reasoning_content: "a thought " })),
    ...Array.from({ length: 100 }, () => chunk({ content: " ".repeat(64) })),
    ...Array.from({ length: 64 }, (_, i) => call(i, '{"a":1}')),
    chunk({}, "tool_calls"),
  ];
  const server = endless((number) => pieces[number] ?? { choices: [] });
  const { model } = modelOn([server]);
  const events = await all(model.generate(chat({ maxTokens: 100 }), NEVER, SERVER));
  expect(events.at(-1)?.type).toBe("finish");
  expect(textOf(events)).toHaveLength(6400);
  expect(events.filter(({ type }) => type === "tool_call_start")).toHaveLength(64);
});
