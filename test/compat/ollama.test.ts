// Ollama's own client against its dialect: a listening server with a fake model.

import { beforeAll, describe, expect, test } from "bun:test";
import { type ChatResponse, Ollama } from "ollama";
import { STRUCTURED, TOOL_ARGS } from "../helpers/fake-model.ts";
import { fakeServer } from "../helpers/listening.ts";
import { WEATHER } from "../helpers/official/client.ts";
import { rejection } from "../helpers/failure.ts";

const server = fakeServer();
let client: Ollama;
beforeAll(() => {
  client = new Ollama({ host: server.baseUrl().replace(/\/v1$/, "") });
});

const model = "tiny:latest";
const messages = [{ role: "user", content: "Hi" }];
const { name, description, parameters } = WEATHER;
const tools = [
  { type: "function", function: { name, description, parameters: { ...parameters, required: ["city"] } } },
];
const SCHEMA = { type: "object", properties: { name: { type: "string" } }, required: ["name"] };

/** The pieces of a stream as one answer. */
async function joined(parts: AsyncIterable<ChatResponse>): Promise<ChatResponse> {
  const all = await Array.fromAsync(parts);
  const last = all.at(-1);
  if (last === undefined) throw new Error("nothing was answered");
  const content = all.map(({ message }) => message.content).join("");
  const calls = all.flatMap(({ message }) => message.tool_calls ?? []);
  return {
    ...last,
    message: { ...last.message, content, ...(calls.length > 0 ? { tool_calls: calls } : {}) },
  };
}

describe.each([
  ["whole", false],
  ["streamed", true],
])("%s", (_, stream) => {
  const chat = async (extra: Partial<Parameters<Ollama["chat"]>[0]>): Promise<ChatResponse> => {
    const body = { model, messages, options: { temperature: 0, num_predict: 9 }, ...extra };
    return stream
      ? joined(await client.chat({ ...body, stream: true }))
      : client.chat({ ...body, stream: false });
  };

  test("text, with token counts", async () => {
    const { message, done, done_reason, prompt_eval_count, eval_count, total_duration } = await chat({});
    expect(message.content).toBe("You said Hi");
    expect({ done, done_reason, prompt_eval_count, eval_count }).toEqual({
      done: true,
      done_reason: "stop",
      prompt_eval_count: 12,
      eval_count: 8,
    });
    expect(total_duration).toBe(2_500_000_000);
    expect(server.lastRequest()).toMatchObject({ maxTokens: 9, sampling: { temperature: 0 } });
  });

  test("a tool's call and its result", async () => {
    const { message } = await chat({ tools });
    expect(message.tool_calls?.map((call) => call.function)).toMatchObject([{ name, arguments: TOOL_ARGS }]);
    const told = { role: "tool", tool_name: name, content: WEATHER.run(TOOL_ARGS) };
    const { message: last } = await chat({ tools, messages: [...messages, message, told] });
    expect(last.content).toBe(`The tool says ${WEATHER.run(TOOL_ARGS)}`);
  });

  test("structured output", async () => {
    const { message } = await chat({ format: SCHEMA });
    expect(JSON.parse(message.content)).toEqual(STRUCTURED);
    expect(server.lastRequest()?.constraint).toMatchObject({ type: "json_schema", schema: SCHEMA });
  });

  test("a prompt", async () => {
    const asked = { model, prompt: "Once", think: false, raw: true };
    const text = stream
      ? (await Array.fromAsync(await client.generate({ ...asked, stream: true })))
          .map(({ response }) => response)
          .join("")
      : (await client.generate({ ...asked, stream: false })).response;
    expect(text).toBe(" and so on");
  });
});

test("vectors", async () => {
  const { embeddings, prompt_eval_count } = await client.embed({ model, input: ["a", "bcd"] });
  expect({ embeddings, prompt_eval_count }).toEqual({
    embeddings: [
      [0, 1],
      [1, 3],
    ],
    prompt_eval_count: 4,
  });
  expect(await client.embeddings({ model, prompt: "abc" })).toEqual({ embedding: [0, 3] });
});

test("models and the server", async () => {
  expect((await client.list()).models.map(({ model: id }) => id)).toEqual(["tiny"]);
  expect((await client.ps()).models.map(({ model: id }) => id)).toEqual(["tiny"]);
  expect((await client.show({ model })).details.format).toBe("gguf");
  expect((await client.version()).version).toBe("0.13.5");
});

test("errors have their status and text", async () => {
  const failure = (work: Promise<unknown>) => rejection(work);
  expect(await failure(client.chat({ model: "absent", messages }))).toMatchObject({
    status_code: 404,
    error: expect.stringContaining('model "absent" not found'),
  });
  expect(await failure(client.pull({ model: "llama3" }))).toMatchObject({ status_code: 404 });
  const aborted = client.chat({ model, messages, stream: true }).then(async (parts) => {
    parts.abort();
    return Array.fromAsync(parts);
  });
  expect(await failure(aborted)).toMatchObject({ name: "AbortError" });
});
