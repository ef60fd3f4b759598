// How the official client takes errors; a listening server with a played run.

import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import {
  APIError,
  BadRequestError,
  InternalServerError,
  NotFoundError,
  RateLimitError,
  type OpenAI,
} from "openai";
import type { RunEvent, RunRequest } from "../../src/core/run.ts";
import { type Listening, listen } from "../../src/http/server.ts";
import { testApp } from "../helpers/app.ts";
import { rejection } from "../helpers/failure.ts";
import { openAi } from "../helpers/official/openai.ts";
import { ACCEPTED, answer, text } from "../helpers/run-events.ts";

/** Plays a run chosen by the model's name. */
async function* generate({ model }: RunRequest): AsyncGenerator<RunEvent> {
  if (model === "absent")
    yield { type: "error", error: { code: "model_not_found", message: "no such model" } };
  else if (model === "full") yield { type: "error", error: { code: "queue_full", message: "try later" } };
  else if (model === "breaks") {
    yield* [ACCEPTED, text("Hi")];
    yield { type: "error", error: { code: "engine_failed", message: "the engine died" } };
  } else yield* answer("Hello", " world");
}

let server: Listening;
let client: OpenAI;

beforeAll(() => {
  server = listen(testApp(generate).app, { hostname: "127.0.0.1", port: 0 });
  client = openAi(`http://127.0.0.1:${server.port}/v1`);
});
afterAll(() => server.stop(true));

const messages = [{ role: "user" as const, content: "Hi" }];

describe("the official client", () => {
  test("lists models", async () => {
    const { data } = await client.models.list();
    expect(data.map(({ id }) => id)).toEqual(["tiny"]);
  });

  test("throws the class of the status", async () => {
    const ask = (model: string, extra: object = {}) =>
      rejection(client.chat.completions.create({ model, messages, ...extra }));
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
