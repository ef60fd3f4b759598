// The official client's Responses interface against a listening server with a fake model.

import { beforeAll, describe, expect, test } from "bun:test";
import OpenAI, { BadRequestError, ConflictError, NotFoundError } from "openai";
import { toResponseInputItems } from "openai/lib/responses/ResponseInputItems";
import { TOOL_ARGS } from "../helpers/fake-model.ts";
import { fakeServer } from "../helpers/listening.ts";
import { until } from "../helpers/until.ts";

const server = fakeServer();
let client: OpenAI;
beforeAll(() => {
  client = new OpenAI({ apiKey: "any", baseURL: server.baseUrl(), maxRetries: 0 });
});

const model = "tiny";
const weather = {
  type: "function" as const,
  name: "weather",
  description: "Says the weather of a city.",
  parameters: {
    type: "object",
    properties: { city: { type: "string" } },
    required: ["city"],
    additionalProperties: false,
  },
  strict: true,
};

test("creates, retrieves, lists input, deletes", async () => {
  const made = await client.responses.create({ model, input: "hi", instructions: "Be kind." });
  expect(made.output_text).toBe("You said hi");
  expect(made).toMatchObject({ object: "response", status: "completed", model, instructions: "Be kind." });
  expect(made.usage).toMatchObject({ input_tokens: 12, output_tokens: 8, total_tokens: 20 });
  const again = await client.responses.retrieve(made.id);
  expect(again).toEqual(made);
  const items = await client.responses.inputItems.list(made.id);
  expect(items.data).toMatchObject([{ type: "message", role: "user", content: "hi" }]);
  await client.responses.delete(made.id);
  const gone = await client.responses.retrieve(made.id).catch((error: unknown) => error);
  expect(gone).toBeInstanceOf(NotFoundError);
  expect(gone).toMatchObject({ code: "response_not_found" });
});

describe("streams", () => {
  test("into the client's own snapshot, which is the body", async () => {
    const stream = client.responses.stream({ model, input: "hi", tools: [weather] });
    const seen: string[] = [];
    for await (const event of stream) seen.push(event.type);
    const final = await stream.finalResponse();
    expect(final.output.map(({ type }) => type)).toEqual(["reasoning", "function_call"]);
    expect(seen).toContain("response.reasoning_text.delta");
    expect(await client.responses.retrieve(final.id)).toMatchObject({
      output: [{ type: "reasoning" }, { type: "function_call", arguments: JSON.stringify(TOOL_ARGS) }],
    });
  });
});

describe("function tools", () => {
  test("go round trip by sending the output items back", async () => {
    const first = await client.responses.create({
      model,
      input: "the weather?",
      tools: [weather],
      store: false,
    });
    const call = first.output.find((item) => item.type === "function_call");
    expect(call).toMatchObject({ name: "weather", arguments: JSON.stringify(TOOL_ARGS) });
    const second = await client.responses.create({
      model,
      tools: [weather],
      input: [
        { role: "user", content: "the weather?" },
        ...toResponseInputItems(first.output),
        { type: "function_call_output", call_id: call?.call_id ?? "", output: "sunny" },
      ],
    });
    expect(second.output_text).toBe("The tool says sunny");
    expect(server.lastRequest()?.prompt).toMatchObject({
      messages: [
        { role: "user" },
        { role: "assistant", reasoning: "I need a tool.", toolCalls: [{ name: "weather" }] },
        { role: "tool", name: "weather", content: [{ text: "sunny" }] },
      ],
    });
  });

  test("instructions are not inherited, messages are", async () => {
    const first = await client.responses.create({ model, input: "one", instructions: "First." });
    await client.responses.create({
      model,
      input: "two",
      previous_response_id: first.id,
      instructions: "Second.",
    });
    expect(server.lastRequest()?.prompt).toMatchObject({
      messages: [
        { role: "system", content: [{ text: "Second." }] },
        { role: "user", content: [{ text: "one" }] },
        { role: "assistant", content: [{ text: "You said one" }] },
        { role: "user", content: [{ text: "two" }] },
      ],
    });
  });
});

test("reports log probabilities", async () => {
  const response = await client.responses.create({
    model,
    input: "hi",
    top_logprobs: 1,
    include: ["message.output_text.logprobs"],
  });
  const [message] = response.output;
  const part = message?.type === "message" ? message.content[0] : undefined;
  expect(part?.type === "output_text" ? part.logprobs?.map(({ token }) => token) : []).toEqual([
    "You ",
    "said ",
    "hi",
  ]);
});

describe("in the background", () => {
  test("is polled until it is done", async () => {
    const queued = await client.responses.create({ model, input: "hi", background: true });
    expect(queued).toMatchObject({ status: "queued", output: [], background: true });
    const done = await until("the response is done", async () => {
      const response = await client.responses.retrieve(queued.id);
      return response.status === "completed" && response;
    });
    expect(done.output_text).toBe("You said hi");
    const late = await client.responses.cancel(queued.id).catch((error: unknown) => error);
    expect(late).toBeInstanceOf(ConflictError);
    expect(late).toMatchObject({ code: "response_not_cancellable" });
  });

  test("streams, and streams again from where the client was", async () => {
    const stream = await client.responses.create({ model, input: "hi", background: true, stream: true });
    const events = await Array.fromAsync(stream);
    expect(events.map(({ type }) => type).slice(0, 3)).toEqual([
      "response.created",
      "response.queued",
      "response.in_progress",
    ]);
    const [created] = events;
    const id = created?.type === "response.created" ? created.response.id : "";
    const again = await client.responses.retrieve(id, { stream: true, starting_after: 4 });
    expect(await Array.fromAsync(again)).toEqual(events.slice(5));
    const whole = client.responses.stream({ response_id: id });
    expect((await whole.finalResponse()).output_text).toBe("You said hi");
  });
});

test("throws the class of the status", async () => {
  const ask = (extra: object) =>
    client.responses.create({ model, input: "hi", ...extra }).catch((error: unknown) => error);
  expect(await ask({ parallel_tool_calls: false })).toBeInstanceOf(BadRequestError);
  expect(await ask({ max_tool_calls: 3 })).toMatchObject({ param: "max_tool_calls" });
  expect(await ask({ previous_response_id: "resp_none" })).toBeInstanceOf(NotFoundError);
});
