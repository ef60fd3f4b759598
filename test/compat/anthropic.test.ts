// The messages dialect's official client against a listening server with a fake model.

import { beforeAll, describe, expect, test } from "bun:test";
import Anthropic, {
  AnthropicError,
  APIError,
  BadRequestError,
  InternalServerError,
  NotFoundError,
  RateLimitError,
} from "@anthropic-ai/sdk";
import { betaZodTool } from "@anthropic-ai/sdk/helpers/beta/zod";
import { zodOutputFormat } from "@anthropic-ai/sdk/helpers/zod";
import { z } from "zod";
import type { AnswerEvent } from "../../src/core/agent.ts";
import { SERVER } from "../../src/core/caller.ts";
import type { RunEvent, RunRequest } from "../../src/core/run.ts";
import { listen } from "../../src/http/server.ts";
import { testApp } from "../helpers/app.ts";
import { rejection } from "../helpers/failure.ts";
import { fakeModel, STRUCTURED, TOOL_ARGS } from "../helpers/fake-model.ts";
import { fakeServer } from "../helpers/listening.ts";
import { ACCEPTED, end, FINISH, text } from "../helpers/run-events.ts";

const model = fakeModel();

/** Plays what the model's name says. */
async function* generate(request: RunRequest, signal: AbortSignal): AsyncGenerator<RunEvent> {
  if (request.model === "absent")
    yield { type: "error", error: { code: "model_not_found", message: "no such model" } };
  else if (request.model === "full")
    yield { type: "error", error: { code: "queue_full", message: "try later" } };
  else if (request.model === "breaks") {
    yield* [ACCEPTED, text("Hi")];
    yield { type: "error", error: { code: "engine_failed", message: "the engine died" } };
  } else if (request.model === "stops") {
    yield* [ACCEPTED, text("1, 2")];
    yield* [{ type: "choice_end", choice: 0, reason: "stop", stop: ", 3" }, FINISH];
  } else yield* model.generate(request, signal, SERVER);
}

const server = fakeServer(generate);
let client: Anthropic;
beforeAll(() => {
  client = new Anthropic({ apiKey: "any", baseURL: server.baseUrl().replace(/\/v1$/, ""), maxRetries: 0 });
});

const question = {
  model: "tiny",
  max_tokens: 64,
  messages: [{ role: "user" as const, content: "the weather?" }],
};
const tools: Anthropic.Tool[] = [
  {
    name: "weather",
    description: "Says the weather of a city.",
    input_schema: { type: "object", properties: { city: { type: "string" } }, required: ["city"] },
  },
];
const CALL = { type: "tool_use", id: "call_0", name: "weather", input: TOOL_ARGS };

describe("messages", () => {
  test("are put together by the client's own stream", async () => {
    const stream = client.messages.stream({ ...question, tools });
    let thought = "";
    let json = "";
    stream.on("thinking", (delta) => (thought += delta));
    stream.on("inputJson", (delta) => (json += delta));
    const message = await stream.finalMessage();
    expect(message.content).toMatchObject([
      { type: "thinking", thinking: "I need a tool.", signature: "svc" },
      CALL,
    ]);
    expect(message.stop_reason).toBe("tool_use");
    expect(message.usage).toMatchObject({ input_tokens: 12, output_tokens: 8 });
    expect(thought).toBe("I need a tool.");
    expect(JSON.parse(json)).toEqual(TOOL_ARGS);
    expect(await client.messages.stream(question).finalText()).toBe("You said the weather?");
  });

  test("tell the stop sequence that ended them", async () => {
    const stopped = { stop_reason: "stop_sequence", stop_sequence: ", 3" };
    const asked = { ...question, model: "stops", stop_sequences: [", 3"] };
    expect(await client.messages.create(asked)).toMatchObject(stopped);
    expect(await client.messages.stream(asked).finalMessage()).toMatchObject(stopped);
  });

  test("are counted", async () => {
    expect(await client.messages.countTokens(question)).toEqual({ input_tokens: 12 });
    const { input_tokens } = await client.beta.messages.countTokens({ ...question, tools });
    expect(input_tokens).toBe(12);
    expect(model.requests.at(-1)?.countOnly).toBe(true);
  });

  test("follow a schema", async () => {
    const schema = z.object({ name: z.string(), age: z.number() });
    const { parsed_output } = await client.messages.parse({
      ...question,
      output_config: { format: zodOutputFormat(schema) },
    });
    expect(parsed_output).toEqual(STRUCTURED);
    expect(model.requests.at(-1)?.constraint).toMatchObject({ type: "json_schema" });
  });
});

describe("tools", () => {
  test.each([false, true])("are run by the client's tool runner, streaming: %p", async (stream) => {
    const weather = betaZodTool({
      name: "weather",
      description: "Says the weather of a city.",
      inputSchema: z.object({ city: z.string() }),
      run: ({ city }) => `sunny in ${city}`,
    });
    const runner = client.beta.messages.toolRunner({ ...question, tools: [weather], stream });
    const message = await runner.runUntilDone();
    expect(message.content).toMatchObject([
      { type: "text", text: `The tool says sunny in ${TOOL_ARGS.city}` },
    ]);
  });

  test("are forced by name", async () => {
    const tool_choice = { type: "tool" as const, name: "weather", disable_parallel_tool_use: true };
    await client.messages.create({ ...question, tools, tool_choice });
    expect(model.requests.at(-1)?.prompt).toMatchObject({
      toolChoice: { type: "named", names: ["weather"], required: true },
      singleCall: true,
    });
  });
});

test("what the server does by itself does not disturb the client's stream", async () => {
  const call = { round: 1, callId: "c", toolName: "svc_execute_python", arguments: "{}" } as const;
  const events: readonly AnswerEvent[] = [
    ACCEPTED,
    { type: "session", sessionId: "s" },
    text("I compute."),
    { type: "tool_calling", ...call, data: { tool_type: "code_execution", code: "1" } },
    {
      type: "tool_complete",
      ...call,
      data: { tool_type: "code_execution" },
      resultContent: "",
      images: [],
      fileIds: [],
    },
    text("It is 1."),
    end(),
    FINISH,
  ];
  async function* converse() {
    yield* events;
  }
  const own = listen(testApp(undefined, { converse }).app, { hostname: "127.0.0.1", port: 0 });
  try {
    const reader = new Anthropic({ apiKey: "any", baseURL: `http://127.0.0.1:${own.port}` });
    const stream = reader.messages.stream(question);
    const raw = Array.fromAsync(stream);
    expect((await stream.finalMessage()).content).toMatchObject([
      { type: "text", text: "I compute." },
      { type: "text", text: "It is 1." },
    ]);
    expect((await raw).at(-2)).toMatchObject({ type: "message_delta", delta: { session_id: "s" } });
  } finally {
    await own.stop(true);
  }
});

describe("errors", () => {
  const failure = (extra: object) => rejection(client.messages.create({ ...question, ...extra }));

  test("have the class of their status and tell what went wrong", async () => {
    expect(await failure({ model: "absent" })).toBeInstanceOf(NotFoundError);
    expect(await failure({ model: "absent" })).toMatchObject({
      status: 404,
      type: "not_found_error",
      apiMessage: "no such model",
    });
    expect(await failure({ model: "full" })).toBeInstanceOf(RateLimitError);
    expect(await failure({ model: "breaks" })).toBeInstanceOf(InternalServerError);
    const refused = await failure({ temperature: 5 });
    expect(refused).toBeInstanceOf(BadRequestError);
    expect(String(refused)).toContain("temperature must be");
  });

  test("inside a stream are thrown", async () => {
    const stream = client.messages.stream({ ...question, model: "breaks" });
    const thrown = await stream.finalMessage().catch((error: unknown) => error);
    expect(thrown).toBeInstanceOf(AnthropicError);
    expect(String(thrown)).toContain("the engine died");
    const events = await client.messages.create({ ...question, model: "breaks", stream: true });
    const read = Array.fromAsync(events).catch((error: unknown) => error);
    expect(await read).toBeInstanceOf(APIError);
  });
});
