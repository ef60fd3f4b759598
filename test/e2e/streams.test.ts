// Many clients at once, clients that go away, and answers that take long.

import { describe, expect, test } from "bun:test";
import { fileServer, startServer } from "../helpers/binary.ts";
import {
  ACCEPTED_FRAME,
  ask,
  CAPITAL,
  complete,
  completeText,
  COUNT_100,
  COUNT_30,
  ENDLESS,
  FIRST_TEXT,
  KEEP_ALIVE,
  openStream,
  postChat,
  streamed,
} from "../helpers/chat-client.ts";
import { foldChunks } from "../helpers/fold-chunks.ts";
import { parseSse } from "../helpers/sse.ts";
import { valueOf } from "../helpers/prometheus.ts";
import { until, within } from "../helpers/until.ts";

describe("max_seqs 32", () => {
  const server = fileServer(["--max-seqs", "32"]);

  test("64 parallel streams all end with their own right text", async () => {
    const prompts = [CAPITAL, COUNT_30];
    const answers = await Promise.all(
      Array.from({ length: 64 }, async (_, i) => {
        const prompt = prompts[i % prompts.length] ?? CAPITAL;
        const { text, errors } = await streamed(server().url, ask(prompt));
        return { isRight: text === prompt.answer, text, errors };
      }),
    );
    expect(answers.filter(({ isRight }) => !isRight)).toEqual([]);
  });

  test("64 parallel bodies say what 64 streams say", async () => {
    const body = ask(CAPITAL);
    const wanted = await completeText(server().url, body);
    const texts = await Promise.all(
      Array.from({ length: 64 }, (_, i) =>
        i % 2 === 0
          ? completeText(server().url, body)
          : streamed(server().url, body).then(({ text }) => text),
      ),
    );
    expect(new Set(texts)).toEqual(new Set([wanted]));
  });

  test("a folded stream is the body, but for its id and times", async () => {
    const body = ask(COUNT_30, { enable_thinking: true });
    const whole = await complete(server().url, body);
    const { chunks } = await streamed(server().url, { ...body, stream_options: { include_usage: true } });
    const folded = foldChunks(chunks);
    expect(folded.choices).toEqual(whole.choices);
    const counts = ({ usage }: typeof whole) => [usage.prompt_tokens, usage.completion_tokens];
    expect(counts(folded)).toEqual(counts(whole));
  });

  test("a seed makes a drawn answer repeatable", async () => {
    const body = ask({ content: "Tell me a story." }, { temperature: 1.5, seed: 7, max_tokens: 20 });
    const texts = await Promise.all(Array.from({ length: 8 }, () => completeText(server().url, body)));
    expect(new Set(texts).size).toBe(1);
  });
});

describe("max_seqs 1", () => {
  const server = fileServer(["--max-seqs", "1"], { env: { KEEP_ALIVE_INTERVAL: "50" } });

  test("a client that goes away in mid-stream frees its sequence, 20 times", async () => {
    for (let round = 0; round < 20; round++) {
      const stream = await openStream(server().url, ask(ENDLESS));
      await stream.readTo(FIRST_TEXT);
      stream.abort();
      // The abandoned answer would take some 20 s more.
      const text = await within(
        5_000,
        "the next request is answered",
        completeText(server().url, ask(CAPITAL)),
      );
      expect(text).toBe(CAPITAL.answer);
    }
  });

  test("a client that goes away while it waits for a sequence leaves nothing behind", async () => {
    const running = await openStream(server().url, ask(ENDLESS));
    await running.readTo(FIRST_TEXT);
    const waiting = await openStream(server().url, ask(ENDLESS));
    await waiting.readTo(ACCEPTED_FRAME);
    waiting.abort();
    running.abort();
    expect(await within(5_000, "the next answer", completeText(server().url, ask(CAPITAL)))).toBe(
      CAPITAL.answer,
    );
  });

  test("a client of a whole body that goes away frees its sequence", async () => {
    const abort = new AbortController();
    const request = postChat(server().url, ask(ENDLESS), { signal: abort.signal }).catch(() => {});
    // It holds the one sequence once a second request has to wait for it.
    const queued = await openStream(server().url, ask(CAPITAL));
    await queued.readTo(KEEP_ALIVE);
    abort.abort();
    await request;
    expect((await within(5_000, "the queued answer", queued.finish())).text).toBe(CAPITAL.answer);
  });

  test("a queued stream and a slow one get keep-alive comments, between frames only", async () => {
    // Long enough to be unfinished when the engine is halted.
    const running = await openStream(server().url, ask(ENDLESS, { max_tokens: 2000 }));
    const queued = await openStream(server().url, ask(CAPITAL));
    const resume = server().pauseEngine();
    await Promise.all([running.readTo(/: keep-alive\n\n: keep-alive/), queued.readTo(KEEP_ALIVE)]);
    resume();
    const [first, second] = await Promise.all([running.finish(), queued.finish()]);
    expect(first.text).toStartWith(COUNT_100.answer);
    expect(second.text).toBe(CAPITAL.answer);
    expect(new Set(parseSse(first.raw + second.raw).comments)).toEqual(new Set([": keep-alive"]));
  });
});

test("the queue is bounded: beyond it 429, at once and with Retry-After", async () => {
  // A server in front would wait and ask again.
  const { engineUrl: url } = await startServer(["--max-seqs", "1", "--queue-max", "1"]);
  const running = await openStream(url, ask(ENDLESS));
  await running.readTo(FIRST_TEXT);
  const queued = await openStream(url, ask(CAPITAL, { return_progress: true }));
  const refused = await postChat(url, ask(CAPITAL));
  expect([refused.status, Number(refused.headers.get("retry-after")) > 0]).toEqual([429, true]);
  expect(await refused.json()).toMatchObject({ error: { code: "queue_full", type: "rate_limit_error" } });
  running.abort();
  const last = await queued.finish();
  expect(last.raw).toContain('"queued_before":0');
  expect(last.text).toBe(CAPITAL.answer);
  expect(await completeText(url, ask(CAPITAL))).toBe(CAPITAL.answer);
});

test("the queue is bounded while the model is still loading, too", async () => {
  const server = await startServer(["--max-seqs", "1", "--queue-max", "1"]);
  const responses = await Promise.all(Array.from({ length: 20 }, () => postChat(server.url, ask(CAPITAL))));
  const statuses = responses.map(({ status }) => status);
  expect(statuses.filter((status) => status !== 200 && status !== 429)).toEqual([]);
  expect(statuses.filter((status) => status === 429).length).toBeGreaterThan(0);
});

/** Steps of more than 256 rows while a long prompt is computed beside an answer. */
async function largeSteps(share: string): Promise<number> {
  const server = await startServer(["--prefill-share", share, "--threads", "1", "--max-seqs", "2"]);
  const running = await openStream(server.url, ask(ENDLESS));
  await running.readTo(FIRST_TEXT);
  // Both fit the cache of 4096 cells, so neither waits for the other.
  const content = "one two three four ".repeat(160);
  const { usage } = await complete(server.url, ask({ content }, { max_tokens: 1 }));
  expect(usage.prompt_tokens).toBeGreaterThan(3 * 512);
  const computed = usage.prompt_tokens - (usage.prompt_tokens_details?.cached_tokens ?? 0);
  const metrics = await until("the engine has reported all steps of the prompt", async () => {
    const text = await (await fetch(`${server.engineUrl}/metrics`)).text();
    return (valueOf(text, "svc_prefill_tokens_total") ?? 0) >= computed && text;
  });
  running.abort();
  const upTo = (bound: string): number =>
    Number(new RegExp(`^svc_step_rows_bucket{[^}]*le="${bound}"[^}]*} (\\d+)`, "m").exec(metrics)?.[1]);
  return upTo("\\+Inf") - upTo("256");
}

test("prefill_share 1 computes a prompt in whole micro-batches beside an answer, 0.2 in smaller parts", async () => {
  const whole = await largeSteps("1");
  expect(whole).toBeGreaterThanOrEqual(3);
  // The share is of time, and a busy machine can stretch the steps that it is measured by.
  let parts = whole;
  for (let attempt = 0; parts >= whole && attempt < 5; attempt++) parts = await largeSteps("0.2");
  expect(parts).toBeLessThan(whole);
});
