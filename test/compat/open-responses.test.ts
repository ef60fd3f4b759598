// Own checks of the Open Responses specification over HTTP, with a fake model. The passing requirements in docs/responses.md.

import { describe, expect, test } from "bun:test";
import Ajv, { type SchemaObject } from "ajv";
import { messageText } from "../../src/core/message.ts";
import type { RunEvent } from "../../src/core/run.ts";
import { testApp } from "../helpers/app.ts";
import { fakeModel } from "../helpers/fake-model.ts";
import { ERROR, EVENTS, RESOURCE } from "../helpers/open-responses.ts";
import { ACCEPTED, end, FINISH, playing, text } from "../helpers/run-events.ts";
import { parseSse } from "../helpers/sse.ts";

const PATH = "/v1/responses";
const ajv = new Ajv({ allErrors: true });

/** Asserts that a value fits, and says where it does not. */
function expectFits(value: unknown, schema: SchemaObject): void {
  const isFit = ajv.validate(schema, value);
  expect(isFit ? [] : (ajv.errors ?? []).map((error) => `${error.instancePath} ${error.message}`)).toEqual(
    [],
  );
}

async function whole(body: object, app = testApp(fakeModel().generate)) {
  const response = await app.post(PATH, { model: "tiny", ...body });
  expect(response.headers.get("content-type")).toStartWith("application/json");
  expect(response.status).toBe(200);
  return response.json();
}

interface StreamEvent {
  readonly type: string;
  readonly sequence_number: number;
  readonly output_index?: number;
  readonly item?: { readonly type: string; readonly status: string };
  readonly response?: { readonly status: string; readonly output: readonly { readonly status: string }[] };
}

/** The events of a stream, each of which has been checked. */
async function streamed(body: object, app = testApp(fakeModel().generate)): Promise<readonly StreamEvent[]> {
  const response = await app.post(PATH, { model: "tiny", stream: true, ...body });
  expect(response.headers.get("content-type")).toStartWith("text/event-stream");
  return parseSse(await response.text()).events.map(({ event, data }) => {
    const parsed = JSON.parse(data);
    expect(parsed.type).toBe(event); // `event` repeats `type`
    expectFits(parsed, EVENTS[event] ?? { not: {} });
    return parsed;
  });
}

const user = (content: unknown) => ({ type: "message", role: "user", content });
const weather = {
  type: "function",
  name: "get_weather",
  description: "Says the weather of a place.",
  parameters: { type: "object", properties: { location: { type: "string" } }, required: ["location"] },
};

describe("the resource has all required fields", () => {
  test("for text and for a list of items", async () => {
    for (const input of ["Say hello.", [user("Say hello.")], [user([{ type: "input_text", text: "Hi" }])]]) {
      const resource = await whole({ input });
      expectFits(resource, RESOURCE);
      expect(resource).toMatchObject({ status: "completed", output: [{ type: "message" }] });
    }
  });

  test("with every field of the request set", async () => {
    const resource = await whole({
      input: "Hi",
      instructions: "Be kind.",
      tools: [weather],
      tool_choice: {
        type: "allowed_tools",
        mode: "auto",
        tools: [{ type: "function", name: "get_weather" }],
      },
      text: { format: { type: "json_schema", name: "a", schema: { type: "object" } } },
      reasoning: { effort: "off", summary: "auto" },
      truncation: "auto",
      metadata: { a: "b" },
      max_output_tokens: 100,
      top_logprobs: 2,
      safety_identifier: "s",
      prompt_cache_key: "k",
    });
    expectFits(resource, RESOURCE);
    expect(resource).toMatchObject({ metadata: { a: "b" }, truncation: "auto", max_output_tokens: 100 });
  });

  test("in the background, from the first answer on", async () => {
    const resource = await whole({ input: "Hi", background: true });
    expectFits(resource, RESOURCE);
    expect(resource.status).toBe("queued");
  });
});

test("roles: system and developer, and earlier turns of the assistant", async () => {
  const { generate, requests } = fakeModel();
  const input = [
    { type: "message", role: "system", content: "You are a pirate." },
    { type: "message", role: "developer", content: "Be brief." },
    user("My name is Alice."),
    { type: "message", role: "assistant", content: "Hello Alice!" },
    user("What is my name?"),
  ];
  expectFits(await whole({ input }, testApp(generate)), RESOURCE);
  const prompt = requests[0]?.prompt;
  expect(prompt?.type === "chat" ? prompt.messages.map(({ role }) => role) : []).toEqual([
    "system",
    "developer",
    "user",
    "assistant",
    "user",
  ]);
});

test("a function call has id, call_id, name, arguments and status", async () => {
  const resource = await whole({ input: "The weather?", tools: [weather] });
  expectFits(resource, RESOURCE);
  expect(resource.output.map(({ type }: { type: string }) => type)).toEqual(["reasoning", "function_call"]);
});

describe("streams", () => {
  test("begin with response.created and have numbers that rise by one", async () => {
    const events = await streamed({ input: "Count." });
    expect(events.map(({ sequence_number: number }) => number)).toEqual(events.map((_, index) => index));
    expect(events.slice(0, 2).map(({ type }) => type)).toEqual(["response.created", "response.in_progress"]);
    expect(events.at(-1)?.type).toBe("response.completed");
  });

  test("tell an item from added to done, content between its parts, nothing afterwards", async () => {
    const events = await streamed({ input: "The weather?", tools: [weather] });
    for (const index of [0, 1]) {
      const types = events.filter((event) => event.output_index === index).map(({ type }) => type);
      expect(types[0]).toBe("response.output_item.added");
      expect(types.at(-1)).toBe("response.output_item.done");
      expect(types.filter((type) => type === "response.output_item.done")).toHaveLength(1);
    }
    const reasoning = events.filter(({ output_index: index }) => index === 0).map(({ type }) => type);
    expect(reasoning).toEqual([
      "response.output_item.added",
      "response.content_part.added",
      "response.reasoning_text.delta",
      "response.reasoning_text.done",
      "response.content_part.done",
      "response.output_item.done",
    ]);
    const calls = events.filter(({ output_index: index }) => index === 1).map(({ type }) => type);
    expect(new Set(calls.slice(1, -2))).toEqual(new Set(["response.function_call_arguments.delta"]));
    expect(calls.at(-2)).toBe("response.function_call_arguments.done");
  });

  test("say when an item was cut: it is the last one, and so is the response incomplete", async () => {
    const events: readonly RunEvent[] = [
      ACCEPTED,
      { type: "reasoning", choice: 0, text: "hm" },
      text("He"),
      end("length"),
      FINISH,
    ];
    const last = (await streamed({ input: "Hi" }, testApp(playing(events).generate))).at(-1);
    expect(last?.type).toBe("response.incomplete");
    expect(last?.response?.output.map(({ status }) => status)).toEqual(["completed", "incomplete"]);
  });

  test("tell an error, which response.failed follows", async () => {
    const error: RunEvent = { type: "error", error: { code: "engine_failed", message: "it died" } };
    const app = testApp(playing([ACCEPTED, text("He"), error]).generate);
    const types = (await streamed({ input: "Hi" }, app)).map(({ type }) => type);
    expect(types.slice(-2)).toEqual(["error", "response.failed"]);
  });
});

test("previous_response_id: earlier input, earlier output, new input, in this order", async () => {
  const { generate, requests } = fakeModel();
  const app = testApp(generate);
  const first = await whole({ input: "one" }, app);
  const second = await whole({ input: "two", previous_response_id: first.id }, app);
  expectFits(second, RESOURCE);
  expect(second.previous_response_id).toBe(first.id);
  const prompt = requests[1]?.prompt;
  expect(prompt?.type === "chat" ? prompt.messages.map(messageText) : []).toEqual([
    "one",
    "You said one",
    "two",
  ]);
});

test("allowed_tools narrows what may be called, while all tools stay in the prompt", async () => {
  const { generate, requests } = fakeModel();
  const tools = [weather, { ...weather, name: "get_time" }];
  const tool_choice = {
    type: "allowed_tools",
    mode: "required",
    tools: [{ type: "function", name: "get_time" }],
  };
  await whole({ input: "Now?", tools, tool_choice }, testApp(generate));
  expect(requests[0]?.prompt).toMatchObject({
    tools: [{ name: "get_weather" }, { name: "get_time" }],
    toolChoice: { type: "named", names: ["get_time"], required: true },
  });
});

test("errors have type, code, message, and the parameter where there is one", async () => {
  const app = testApp();
  for (const [body, status] of [
    [{ input: "Hi", temperature: 9 }, 400],
    [{ input: "Hi", previous_response_id: "resp_none" }, 404],
  ] as const) {
    const response = await app.post(PATH, body);
    expect(response.status).toBe(status);
    expectFits(await response.json(), ERROR);
  }
});

test("an image is refused by name on a model without vision", async () => {
  const image = { type: "input_image", image_url: "data:image/png;base64,iVBORw0KGgo=" };
  const response = await testApp().post(PATH, { input: [user([image])] });
  expect(response.status).toBe(400);
  expect((await response.json()).error).toMatchObject({
    code: "unsupported_capability",
    param: "input[0].content[0]",
  });
});
