// The official client's Responses interface against the compiled executable and the built-in model.

import { expect, test } from "bun:test";
import OpenAI, { ConflictError, NotFoundError } from "openai";
import { fileServer } from "../helpers/binary.ts";
import { CAPITAL, ENDLESS } from "../helpers/chat-client.ts";
import { rejection } from "../helpers/failure.ts";
import { until } from "../helpers/until.ts";

const server = fileServer();
const client = () => new OpenAI({ apiKey: "any", baseURL: `${server().url}/v1`, maxRetries: 0 });

const basics = { model: "default", temperature: 0 } as const;
const question = { ...basics, input: CAPITAL.content };
const weather = {
  type: "function" as const,
  name: "get_weather",
  description: "Get the weather of a city.",
  parameters: {
    type: "object",
    properties: { city: { type: "string" } },
    required: ["city"],
    additionalProperties: false,
  },
  strict: true,
};

test("creates, with reasoning and consistent usage; retrieves; deletes", async () => {
  const made = await client().responses.create(question);
  expect(made.output_text).toBe(CAPITAL.answer);
  expect(made).toMatchObject({ model: "svc-tiny", status: "completed", error: null });
  expect(made.output.map(({ type }) => type)).toEqual(["reasoning", "message"]);
  const { input_tokens = 0, output_tokens = 0, total_tokens } = made.usage ?? {};
  expect(total_tokens).toBe(input_tokens + output_tokens);
  expect(made.usage?.output_tokens_details.reasoning_tokens).toBeGreaterThan(5);
  expect(await client().responses.retrieve(made.id)).toEqual(made);
  await client().responses.delete(made.id);
  const gone = await rejection(client().responses.retrieve(made.id));
  expect(gone).toBeInstanceOf(NotFoundError);
});

test("compaction: an item of an answer, or alone, goes on for what was before it", async () => {
  const turns = Array.from({ length: 8 }, (_, at) => [
    { role: "user" as const, content: `Turn ${at}. ${"blah ".repeat(40)}` },
    { role: "assistant" as const, content: "Noted." },
  ]).flat();
  const input = [...turns, { role: "user" as const, content: CAPITAL.content }];
  const ask = { ...basics, input, reasoning: { effort: "none" as const }, max_output_tokens: 60 };
  const context_management = [{ type: "compaction" as const, compact_threshold: 500 }];
  const made = await client().responses.create({ ...ask, context_management });
  expect(made.output.map(({ type }) => type)).toEqual(["compaction", "message"]);
  const streamed = await client()
    .responses.stream({ ...ask, context_management })
    .finalResponse();
  expect(streamed.output.map(({ type }) => type)).toEqual(["compaction", "message"]);
  const next = await client().responses.create({ ...ask, input: "And?", previous_response_id: made.id });
  expect(next.usage?.input_tokens).toBeLessThan(500);
  const { output, object } = await client().responses.compact({ model: "default", input });
  const asked = input.filter(({ role }) => role === "user");
  expect([object, output.at(-1)?.type]).toEqual(["response.compaction", "compaction"]);
  expect(output.slice(0, -1) as object[]).toMatchObject(
    asked.map(({ role, content }) => ({
      role,
      type: "message",
      content: [{ type: "input_text", text: content }],
    })),
  );
  const chained = await client().responses.compact({ model: "default", previous_response_id: next.id });
  const said = chained.output.flatMap((item) => (item.type === "message" ? item.content : []));
  expect(said.length).toBe(asked.length + 1);
  const after = await client().responses.create({
    ...ask,
    input: [...turns, ...output, { role: "user", content: "Hi" }] as never,
  });
  expect(after.usage?.input_tokens).toBeLessThan(300);
  const trigger = { type: "compaction_trigger" as const };
  const triggered = await client().responses.create({ ...ask, input: [...input, trigger] });
  expect(triggered.output.map(({ type }) => type)).toEqual(["compaction"]);
  const early = client().responses.create({ ...ask, input: [trigger, ...input] });
  expect(String(await rejection(early))).toContain("input[0] is a compaction_trigger before other items");
});

test("tools on demand: searched by the server, or by the client, which sends what it found", async () => {
  const tools = [
    { type: "tool_search" },
    { ...weather, defer_loading: true },
  ] as unknown as (typeof weather)[];
  const ask = {
    ...question,
    reasoning: { effort: "none" as const },
    tool_choice: "required" as const,
    max_output_tokens: 120,
  };
  const { output } = await client().responses.create({ ...ask, tools });
  const streamed = await client()
    .responses.stream({ ...ask, tools })
    .finalResponse();
  const types = output.map(({ type }) => type as string);
  expect(types.slice(0, 2)).toEqual(["tool_search_call", "tool_search_output"]);
  expect(streamed.output.map(({ type }) => type as string)).toEqual(types);

  const search = { type: "tool_search", execution: "client", description: "Finds tools." };
  const [call] = (await client().responses.create({ ...ask, tools: [search] as never }))
    .output as unknown as {
    type: string;
    call_id: string;
    arguments: object;
  }[];
  expect(call).toMatchObject({
    type: "tool_search_call",
    execution: "client",
    arguments: expect.any(Object),
  });
  const found = { type: "tool_search_output", call_id: call?.call_id, tools: [weather] };
  const input = [{ role: "user", content: CAPITAL.content }, call, found] as never;
  const choice = { type: "function" as const, name: weather.name };
  const after = await client().responses.create({
    ...ask,
    input,
    tools: [search] as never,
    tool_choice: choice,
  });
  expect(after.output[0]).toMatchObject({ type: "function_call", name: weather.name });
});

test("remembers what was said before, by previous_response_id", async () => {
  const reasoning = { effort: "none" } as const;
  const first = await client().responses.create({ ...basics, input: "My name is Anna.", reasoning });
  const second = await client().responses.create({
    ...basics,
    input: "What is my name?",
    previous_response_id: first.id,
    reasoning,
  });
  expect(second.output_text).toContain("Anna");
  expect(second.usage?.input_tokens_details.cached_tokens).toBeGreaterThan(0);
});

test("runs in the background until it is done", async () => {
  const { id } = await client().responses.create({ ...question, background: true });
  const done = await until("the response is done", async () => {
    const response = await client().responses.retrieve(id);
    return response.status === "completed" && response;
  });
  expect(done.output_text).toBe(CAPITAL.answer);
  const late = await rejection(client().responses.cancel(id));
  expect(late).toBeInstanceOf(ConflictError);
});

test("is cancelled in the background, and its stream ends", async () => {
  const stream = await client().responses.create({
    ...basics,
    input: ENDLESS.content,
    background: true,
    stream: true,
  });
  let id = "";
  let last: string | undefined;
  for await (const event of stream) {
    if (event.type === "response.created") ({ id } = event.response);
    if (event.type === "response.output_text.delta" && last !== event.type) {
      expect((await client().responses.cancel(id)).status).toBe("cancelled");
    }
    last = event.type;
  }
  expect(last).toBe("response.incomplete");
  expect((await client().responses.retrieve(id)).status).toBe("cancelled");
});
