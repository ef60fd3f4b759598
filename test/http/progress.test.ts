// return_progress in every dialect, as its official client sees it, and through a server in front of another one.

import { describe, expect, test } from "bun:test";
import Anthropic from "@anthropic-ai/sdk";
import { Ollama } from "ollama";
import OpenAI from "openai";
import { SERVER } from "../../src/core/caller.ts";
import type { RunEvent, RunRequest } from "../../src/core/run.ts";
import { fakeServer } from "../helpers/listening.ts";
import { answer } from "../helpers/run-events.ts";
import { all, chat, modelOn, NEVER } from "../helpers/upstream-model.ts";

const [ACCEPTED, ...REST] = answer("Hi ", "there");
const COUNTS = { total: 237, processed: 128 };
const PROMPT = { type: "prompt_progress", ...COUNTS, cached: 64, ms: 12.4, ahead: 2 } as const;
const WIRE = { ...COUNTS, cache: 64, time_ms: 12, queued_before: 2 };

/** Tells progress where the request asks for it. */
async function* generate(request: RunRequest): AsyncGenerator<RunEvent> {
  const tells = request.progress === true;
  if (tells) yield { type: "load_progress", permille: 420 };
  if (ACCEPTED !== undefined) yield ACCEPTED;
  if (tells) yield PROMPT;
  yield* REST;
}

const server = fakeServer(generate);
const origin = () => server.baseUrl().replace(/\/v1$/, "");
const messages = [{ role: "user" as const, content: "Hello" }];
const extra = { return_progress: true };

/** The stream as it is sent. */
async function raw(path: string, body: object): Promise<string> {
  const headers = { "content-type": "application/json" };
  const init = { method: "POST", headers, body: JSON.stringify({ model: "tiny", ...body }) };
  const response = await fetch(`${origin()}${path}`, init);
  expect(response.status).toBe(200);
  return response.text();
}

describe("Messages", () => {
  const body = { model: "tiny", max_tokens: 16, messages };

  test("pings tell it", async () => {
    const sent = await raw("/v1/messages", { ...body, ...extra, stream: true });
    const pings = sent.split("\n\n").filter((frame) => frame.startsWith("event: ping"));
    expect(pings.map((frame) => JSON.parse(frame.split("data: ")[1] ?? ""))).toEqual([
      { type: "ping", load_progress: { model: "tiny", progress: 0.42 } },
      { type: "ping", prompt_progress: WIRE },
    ]);
  });

  test("the official client is not disturbed", async () => {
    const client = new Anthropic({ apiKey: "any", baseURL: origin(), maxRetries: 0 });
    const stream = client.messages.stream({ ...body, ...extra });
    const { content } = await stream.finalMessage();
    expect(content).toMatchObject([{ type: "text", text: "Hi there" }]);
  });
});

describe("Responses", () => {
  test("a comment tells of the load, events response.in_progress of the prompt", async () => {
    const sent = await raw("/v1/responses", { input: "Hello", stream: true, ...extra });
    expect(sent).toStartWith(
      ': {"load_progress":{"model":"tiny","progress":0.42}}\n\nevent: response.created\n',
    );
  });

  test("the official client is not disturbed, and sees the prompt", async () => {
    const client = new OpenAI({ apiKey: "any", baseURL: server.baseUrl(), maxRetries: 0 });
    const stream = client.responses.stream({ model: "tiny", input: "Hello", ...extra });
    const seen: unknown[] = [];
    const numbers: number[] = [];
    stream.on("event", (event) => {
      numbers.push(event.sequence_number);
      if (event.type === "response.in_progress" && "prompt_progress" in event)
        seen.push(event.prompt_progress);
    });
    expect((await stream.finalResponse()).output_text).toBe("Hi there");
    expect(seen).toEqual([WIRE]);
    expect(numbers).toEqual(numbers.map((_, at) => at));
  });
});

describe("Ollama's dialect", () => {
  test("the official client sees it in parts without text", async () => {
    const client = new Ollama({ host: origin() });
    const stream = await client.chat({ model: "tiny", messages, stream: true, ...extra });
    const parts = await Array.fromAsync(stream);
    expect(parts.map(({ message }) => message.content).join("")).toBe("Hi there");
    expect(parts.slice(0, 2)).toMatchObject([
      { done: false, load_progress: { model: "tiny", progress: 0.42 } },
      { done: false, prompt_progress: WIRE },
    ]);
    expect(parts.at(-1)?.done).toBe(true);
  });
});

test.each([
  ["/v1/messages", { max_tokens: 16, messages, stream: true }],
  ["/v1/responses", { input: "Hello", stream: true }],
  ["/api/chat", { messages }],
  ["/api/chat", { messages, stream: false, ...extra }],
])(
  "%s: nothing tells it where the request does not ask for it, or does not stream: %j",
  async (path, body) => {
    expect(await raw(path, body)).not.toContain('progress":{');
  },
);

test("a server in front of another one passes it on", async () => {
  const { model: front } = modelOn([{ url: server.baseUrl() }], { each: { model: "tiny" } });
  const told = await all(front.generate(chat({ progress: true }), NEVER, SERVER));
  expect(told.slice(0, 3)).toMatchObject([
    { type: "load_progress", permille: 420 },
    { type: "accepted" },
    { ...PROMPT, ms: 12 },
  ]);
  expect(told.at(-1)?.type).toBe("finish");
  const quiet = await all(front.generate(chat(), NEVER, SERVER));
  expect(quiet.map(({ type }) => type)).not.toContain("prompt_progress");
});
