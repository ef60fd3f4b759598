// Streams of runs that wait for their model: keep-alive comments, progress, and errors that come late.

import { expect, test } from "bun:test";
import { ServiceError } from "../../src/core/error.ts";
import type { Generate, RunEvent } from "../../src/core/run.ts";
import { chatBody, testApp } from "../helpers/app.ts";
import { answer } from "../helpers/run-events.ts";
import { until } from "../helpers/until.ts";

const UNAVAILABLE = new ServiceError("model_unavailable", "The model could not be loaded.").toData();

/** Yields the events of `before`, waits for `go`, and yields those of `after`. */
function waiting(go: Promise<unknown>, before: readonly RunEvent[], after: readonly RunEvent[]): Generate {
  return async function* (_request, signal) {
    yield* before;
    await go;
    if (!signal.aborted) yield* after;
  };
}

/** Reads a body to its end; `text` has what has come so far. */
function reading(response: Response) {
  const read = { text: "", done: Promise.resolve() };
  read.done = (async () => {
    for await (const bytes of response.body ?? []) read.text += new TextDecoder().decode(bytes);
  })();
  return read;
}

function chunks(text: string): readonly Record<string, unknown>[] {
  return text.split("\n\n").flatMap((frame) => {
    const json = frame.startsWith("data: {") ? frame.slice("data: ".length) : undefined;
    return json === undefined ? [] : [JSON.parse(json) as Record<string, unknown>];
  });
}

const ROUTES: readonly (readonly [string, object])[] = [
  ["/v1/chat/completions", chatBody({ stream: true })],
  ["/v1/messages", chatBody({ stream: true, max_tokens: 5 })],
  ["/v1/responses", { model: "tiny", input: "Hi", stream: true }],
];

test.each(ROUTES)(
  "%s: a stream that waits for its model gets comments, then its answer",
  async (path, body) => {
    const go = Promise.withResolvers<void>();
    const generate = waiting(go.promise, [], answer("late"));
    const response = await testApp(generate, { keepAliveMs: 5 }).post(path, body);
    expect(response.status).toBe(200);
    const read = reading(response);
    await until("two comments have come", () => read.text.split(": keep-alive\n\n").length > 2);
    expect(read.text).not.toContain("late");
    go.resolve();
    await read.done;
    expect(read.text).toContain("late");
  },
);

test.each(ROUTES)("%s: a refusal after the first comment ends the stream in-band", async (path, body) => {
  const go = Promise.withResolvers<void>();
  const generate = waiting(go.promise, [], [{ type: "error", error: UNAVAILABLE }]);
  const app = testApp(generate, { keepAliveMs: 5 });
  const response = await app.post(path, body);
  const read = reading(response);
  go.resolve();
  await read.done;
  expect([response.status, read.text]).toEqual([200, expect.stringContaining(UNAVAILABLE.message)]);
  expect(read.text.split(UNAVAILABLE.message).length).toBeGreaterThan(1);
});

test("a refusal that comes at once is the status, as ever", async () => {
  const generate = waiting(Promise.resolve(), [], [{ type: "error", error: UNAVAILABLE }]);
  for (const [path, body] of ROUTES) expect((await testApp(generate).post(path, body)).status).toBe(503);
});

test("return_progress: how much is loaded, then how much of the prompt is computed", async () => {
  const go = Promise.withResolvers<void>();
  const [accepted, ...rest] = answer("Hi");
  const progress = { type: "prompt_progress", total: 237, cached: 64, ms: 12.4 } as const;
  const generate = waiting(
    go.promise,
    [
      { type: "load_progress", permille: 0 },
      { type: "load_progress", permille: 420 },
    ],
    [accepted, { ...progress, processed: 64 }, { ...progress, processed: 237 }, ...rest].filter(
      (e) => e !== undefined,
    ),
  );
  const app = testApp(generate);
  const response = await app.post("/v1/chat/completions", chatBody({ stream: true, return_progress: true }));
  const read = reading(response);
  await until("the load is reported", () => read.text.includes("0.42"));
  go.resolve();
  await read.done;
  const all = chunks(read.text);
  const ids = new Set(all.map(({ id, model, object }) => `${String(id)} ${String(model)} ${String(object)}`));
  expect(ids.size).toBe(1);
  expect(all.flatMap(({ load_progress: one }) => one ?? [])).toEqual([
    { model: "tiny", progress: 0 },
    { model: "tiny", progress: 0.42 },
  ]);
  expect(all.flatMap(({ prompt_progress: one }) => one ?? [])).toEqual([
    { total: 237, cache: 64, processed: 64, time_ms: 12 },
    { total: 237, cache: 64, processed: 237, time_ms: 12 },
  ]);
  for (const chunk of all.filter((one) => "load_progress" in one || "prompt_progress" in one))
    expect(chunk["choices"]).toEqual([{ index: 0, delta: {}, finish_reason: null }]);
});

test("only streams ask for progress", async () => {
  const asked: unknown[] = [];
  const generate: Generate = async function* (request) {
    asked.push(request.progress);
    yield* answer("Hi");
  };
  const app = testApp(generate);
  for (const extra of [{ stream: true }, { return_progress: true }, { stream: true, return_progress: true }])
    await (await app.post("/v1/chat/completions", chatBody(extra))).text();
  expect(asked).toEqual([undefined, undefined, true]);
});

test("a client that leaves before its run is accepted ends it", async () => {
  let isAborted = false;
  const generate: Generate = async function* (_request, signal) {
    yield { type: "load_progress", permille: 0 };
    await new Promise((resolve) => signal.addEventListener("abort", resolve));
    isAborted = true;
  };
  const response = await testApp(generate, { keepAliveMs: 5 }).post(
    "/v1/chat/completions",
    chatBody({ stream: true, return_progress: true }),
  );
  await response.body?.cancel();
  await until("the run has ended", () => isAborted);
});
