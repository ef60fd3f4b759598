// The official client against a listening server with a played run.

import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import OpenAI, {
  APIError,
  BadRequestError,
  InternalServerError,
  NotFoundError,
  RateLimitError,
} from "openai";
import type { RunEvent, RunRequest } from "../../src/core/run.ts";
import { type Listening, listen } from "../../src/http/server.ts";
import { testApp } from "../helpers/app.ts";
import { ACCEPTED, answer, end, FINISH, text } from "../helpers/run-events.ts";

const CALL_RUN: readonly RunEvent[] = [
  ACCEPTED,
  { type: "tool_call_start", choice: 0, index: 0, id: "call_a", name: "find" },
  { type: "tool_call_args", choice: 0, index: 0, delta: '{"q":' },
  { type: "tool_call_args", choice: 0, index: 0, delta: "1}" },
  end("tool_calls"),
  FINISH,
];

/** Plays a run chosen by the model's name. */
async function* generate({ model }: RunRequest): AsyncGenerator<RunEvent> {
  if (model === "absent")
    yield { type: "error", error: { code: "model_not_found", message: "no such model" } };
  else if (model === "full") yield { type: "error", error: { code: "queue_full", message: "try later" } };
  else if (model === "caller") yield* CALL_RUN;
  else if (model === "breaks") {
    yield* [ACCEPTED, text("Hi")];
    yield { type: "error", error: { code: "engine_failed", message: "the engine died" } };
  } else yield* answer("Hello", " world");
}

let server: Listening;
let client: OpenAI;

beforeAll(() => {
  server = listen(testApp(generate).app, { hostname: "127.0.0.1", port: 0 });
  client = new OpenAI({ apiKey: "any", baseURL: `http://127.0.0.1:${server.port}/v1`, maxRetries: 0 });
});
afterAll(() => server.stop(true));

const messages = [{ role: "user" as const, content: "Hi" }];

describe("the official client", () => {
  test("completes", async () => {
    const completion = await client.chat.completions.create({ model: "tiny", messages });
    expect(completion.choices[0]?.message.content).toBe("Hello world");
    expect(completion.usage?.total_tokens).toBe(20);
  });

  test("streams", async () => {
    const stream = await client.chat.completions.create({
      model: "tiny",
      messages,
      stream: true,
      stream_options: { include_usage: true },
    });
    let said = "";
    let total: number | undefined;
    for await (const chunk of stream) {
      said += chunk.choices[0]?.delta.content ?? "";
      total = chunk.usage?.total_tokens ?? total;
    }
    expect({ said, total }).toEqual({ said: "Hello world", total: 20 });
  });

  test("accumulates a stream with its own helper", async () => {
    const stream = client.chat.completions.stream({ model: "caller", messages });
    const { choices } = await stream.finalChatCompletion();
    expect(choices[0]).toMatchObject({
      finish_reason: "tool_calls",
      message: {
        tool_calls: [{ id: "call_a", type: "function", function: { name: "find", arguments: '{"q":1}' } }],
      },
    });
  });

  test("lists models", async () => {
    const { data } = await client.models.list();
    expect(data.map(({ id }) => id)).toEqual(["tiny"]);
  });

  test("throws the class of the status", async () => {
    const ask = (model: string, extra: object = {}) =>
      client.chat.completions.create({ model, messages, ...extra }).then(
        () => undefined,
        (error: unknown) => error,
      );
    expect(await ask("absent")).toBeInstanceOf(NotFoundError);
    expect(await ask("absent")).toMatchObject({ code: "model_not_found", type: "not_found_error" });
    expect(await ask("tiny", { temperature: 5 })).toBeInstanceOf(BadRequestError);
    expect(await ask("tiny", { temperature: 5 })).toMatchObject({ param: "temperature" });
    expect(await ask("full")).toBeInstanceOf(RateLimitError);
    expect(await ask("breaks")).toBeInstanceOf(InternalServerError);
  });

  test("throws for an error inside a stream", async () => {
    const stream = await client.chat.completions.create({ model: "breaks", messages, stream: true });
    let said = "";
    const read = async () => {
      for await (const chunk of stream) said += chunk.choices[0]?.delta.content ?? "";
    };
    const failure = await read().catch((error: unknown) => error);
    expect(failure).toBeInstanceOf(APIError);
    expect(String(failure)).toContain("the engine died");
    expect(said).toBe("Hi");
  });
});

test("a port in use is refused", () => {
  expect(() => listen(testApp().app, { hostname: "127.0.0.1", port: server.port })).toThrow(
    expect.objectContaining({ code: "EADDRINUSE" }),
  );
});
