// How a completions request travels: one run a prompt, started together, merged in the stream, ended together.

import { describe, expect, test } from "bun:test";
import { defined } from "../../src/core/defined.ts";
import type { Generate, RunEvent, RunRequest } from "../../src/core/run.ts";
import type { CompletionChunkResponse } from "../../src/dialects/completions/schema.ts";
import { testApp, textBody } from "../helpers/app.ts";
import { foldCompletionChunks } from "../helpers/fold-completions.ts";
import { ACCEPTED, answer, byHand, end, FINISH, type HandRun, playing, text } from "../helpers/run-events.ts";
import { parseDoneStream } from "../helpers/sse.ts";
import { turns } from "../helpers/turns.ts";

const PATH = "/v1/completions";

/** What a run continues, as text. */
function promptText({ prompt }: RunRequest): string {
  if (prompt.type === "chat" || prompt.type === "gap") throw new Error("not a completion");
  return prompt.type === "text" ? prompt.text : prompt.tokens.join(" ");
}

/** Says each prompt back, once a choice. */
const echoing: Generate = async function* (request) {
  yield ACCEPTED;
  for (let choice = 0; choice < request.choices; choice++) {
    yield text(promptText(request), choice);
    yield text(`#${choice}`, choice);
    yield end("length", choice);
  }
  yield FINISH;
};

test("the request reaches generate and the answer comes back whole", async () => {
  const { generate, requests } = playing(answer("upon", " a time"));
  const response = await testApp(generate).post(PATH, textBody({ temperature: 0 }));
  expect(response.status).toBe(200);
  expect(response.headers.get("content-type")).toStartWith("application/json");
  expect(await response.json()).toEqual({
    id: expect.stringMatching(/^cmpl-[0-9A-Za-z]{24}$/),
    object: "text_completion",
    created: expect.any(Number),
    model: "tiny", // the default model's id stands for "default"
    system_fingerprint: "svc-test",
    choices: [{ index: 0, text: "upon a time", logprobs: null, finish_reason: "stop" }],
    usage: expect.objectContaining({ prompt_tokens: 12, completion_tokens: 8 }),
  });
  expect(requests).toHaveLength(1);
  expect(requests[0]).toMatchObject({ model: "default", sampling: { temperature: 0 }, maxTokens: 16 });
});

test("choices of several prompts are numbered through, streamed and not", async () => {
  const app = testApp(echoing);
  const request = textBody({ prompt: [[1, 2], [3]], n: 2, model: "m" });
  const body = await (await app.post(PATH, request)).json();
  expect(body.model).toBe("m");
  expect(body.choices.map((choice: { index: number; text: string }) => [choice.index, choice.text])).toEqual([
    [0, "1 2#0"],
    [1, "1 2#1"],
    [2, "3#0"],
    [3, "3#1"],
  ]);
  expect(body.usage).toMatchObject({ prompt_tokens: 24, completion_tokens: 16, total_time_sec: 2.5 });
  for (const include_usage of [true, false]) {
    const streamed = await app.post(PATH, { ...request, stream: true, stream_options: { include_usage } });
    expect(streamed.headers.get("content-type")).toStartWith("text/event-stream");
    const chunks = parseDoneStream(await streamed.text()) as CompletionChunkResponse[];
    const own = { id: expect.any(String), created: expect.any(Number) };
    expect({ ...foldCompletionChunks(chunks, 4, false), ...own }).toEqual({ ...body, ...own });
  }
});

describe("several runs", () => {
  const PROMPTS = ["a", "b", "c"];
  const DIED: RunEvent = { type: "error", error: { code: "engine_failed", message: "it died" } };

  async function start(extra: object, signal?: AbortSignal) {
    const hands = byHand();
    const app = testApp(hands.generate);
    const body = textBody({ prompt: PROMPTS, ...extra });
    const init = { method: "POST", body: JSON.stringify(body), ...defined({ signal }) };
    const pending = app.request(PATH, init);
    const runs: HandRun[] = [];
    for (const _ of PROMPTS) runs.push(await hands.next());
    return { app, pending, runs };
  }

  const emitAll = (runs: readonly HandRun[], ...events: readonly RunEvent[]) => {
    for (const run of runs) run.emit(...events);
  };

  test("the answer begins when all are accepted", async () => {
    const { pending, runs } = await start({ stream: true });
    const [first, ...rest] = runs;
    first?.emit(ACCEPTED, text("early"));
    expect(await Promise.race([pending, turns().then(() => "none yet")])).toBe("none yet");
    emitAll(rest, ACCEPTED);
    expect((await pending).status).toBe(200);
    emitAll(runs, end(), FINISH);
    const chunks = parseDoneStream(await (await pending).text());
    expect(chunks[0]).toMatchObject({ choices: [{ index: 0, text: "early" }] });
  });

  test.each([true, false])(
    "one that is refused refuses the request and ends the others, stream %p",
    async (stream) => {
      const { pending, runs } = await start({ stream });
      const [first, second, third] = runs;
      first?.emit(ACCEPTED);
      second?.emit({ type: "error", error: { code: "context_length_exceeded", message: "too long" } });
      const response = await pending;
      expect(response.status).toBe(400);
      expect(await response.json()).toMatchObject({ error: { code: "context_length_exceeded" } });
      await Promise.all([first?.closed, second?.closed, third?.closed]);
      expect(third?.signal.aborted).toBe(true);
    },
  );

  test("one that fails later fails a body and ends the others", async () => {
    const { pending, runs } = await start({});
    emitAll(runs, ACCEPTED, text("x"));
    runs[1]?.emit(DIED);
    const response = await pending;
    expect(response.status).toBe(500);
    expect(await response.json()).toMatchObject({ error: { code: "engine_failed" } });
    await Promise.all(runs.map((run) => run.closed));
  });

  test("one that fails later ends a stream in-band, once", async () => {
    const { pending, runs } = await start({ stream: true });
    emitAll(runs, ACCEPTED, text("x"));
    runs[1]?.emit(DIED);
    const chunks = parseDoneStream(await (await pending).text());
    expect(chunks.at(-1)).toMatchObject({ error: { code: "engine_failed", message: "it died" } });
    await Promise.all(runs.map((run) => run.closed));
    expect(runs.map((run) => run.signal.aborted)).toEqual([true, true, true]);
  });

  test("one that throws, or stops without a word, is a bug told in-band", async () => {
    for (const stop of [(run: HandRun) => run.fail(new Error("secret")), (run: HandRun) => run.stop()]) {
      const { app, pending, runs } = await start({ stream: true });
      emitAll(runs, ACCEPTED, text("x"));
      const [first] = runs;
      if (first !== undefined) stop(first);
      const chunks = parseDoneStream(await (await pending).text());
      expect(chunks.at(-1)).toMatchObject({ error: { code: "internal_error" } });
      expect(app.logged).toHaveLength(1);
      await Promise.all(runs.map((run) => run.closed));
    }
  });

  test.each([true, false])("a client that leaves ends them all, stream %p", async (stream) => {
    const client = new AbortController();
    const { app, pending, runs } = await start({ stream }, client.signal);
    emitAll(runs, ACCEPTED, text("x"));
    if (stream) await (await pending).body?.cancel();
    else client.abort();
    await Promise.all(runs.map((run) => run.closed));
    expect(runs.map((run) => run.signal.aborted)).toEqual([true, true, true]);
    await pending.catch(() => {});
    expect(app.logged).toEqual([]);
  });
});

test("many prompts are fine", async () => {
  const prompt = Array.from({ length: 256 }, (_, index) => `p${index}`);
  const body = await (await testApp(echoing).post(PATH, { prompt })).json();
  expect(body.choices).toHaveLength(256);
  expect(body.choices[255]).toMatchObject({ index: 255, text: "p255#0" });
});
