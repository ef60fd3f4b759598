// Streams under trouble: idle, slow readers, readers that leave, runs that break.

import { describe, expect, test } from "bun:test";
import type { RunEvent } from "../../src/core/run.ts";
import { listen } from "../../src/http/server.ts";
import { sseResponse } from "../../src/http/sse.ts";
import { chatBody, testApp } from "../helpers/app.ts";
import { rejection } from "../helpers/failure.ts";
import { postJson } from "../helpers/post.ts";
import { ACCEPTED, answer, byHand, end, FINISH, playing, text } from "../helpers/run-events.ts";
import { parseDoneStream, parseSse } from "../helpers/sse.ts";
import { turns } from "../helpers/turns.ts";

const CHAT = "/v1/chat/completions";
const STREAM = chatBody({ stream: true });

function reader(response: Response) {
  if (response.body === null) throw new Error("no body");
  const bytes = response.body.getReader();
  const decoder = new TextDecoder();
  return {
    /** The next piece of text; undefined at the end. */
    async next(): Promise<string | undefined> {
      const { done, value } = await bytes.read();
      return done ? undefined : decoder.decode(value);
    },
    cancel: () => bytes.cancel(),
  };
}

describe("keep-alive", () => {
  test("comments come while a run is silent, between frames only", async () => {
    const runs = byHand();
    const pending = testApp(runs.generate, { keepAliveMs: 5 }).post(CHAT, STREAM);
    const run = await runs.next();
    run.emit(ACCEPTED);
    const stream = reader(await pending);
    let seen = "";
    const until = async (comments: number) => {
      while (parseSse(seen).comments.length < comments) seen += (await stream.next()) ?? "";
    };
    await until(3);
    run.emit(text("Hi"));
    await until(5);
    run.emit(end(), FINISH);
    for (let piece = await stream.next(); piece !== undefined; piece = await stream.next()) seen += piece;
    const { comments, events } = parseSse(seen);
    expect(comments.every((comment) => comment === ": keep-alive")).toBe(true);
    expect(events).toHaveLength(4); // role, text, finish, [DONE]
  });

  test("a busy stream gets none", async () => {
    const response = await testApp(playing(answer("a", "b")).generate, { keepAliveMs: 1000 }).post(
      CHAT,
      STREAM,
    );
    expect(parseSse(await response.text()).comments).toEqual([]);
  });

  test("comments do not pile up before a client that does not read", async () => {
    const abort = new AbortController();
    const silent = { next: () => new Promise<undefined>(() => {}), close: async () => {} };
    const stream = reader(sseResponse(silent, { abort, keepAliveMs: 1 }));
    const read = reader(sseResponse(silent, { abort, keepAliveMs: 1 }));
    for (let comments = 0; comments < 5; comments++) expect(await read.next()).toBe(": keep-alive\n\n");
    abort.abort(); // stops the comments, so that only what was queued is left
    expect(await stream.next()).toBe(": keep-alive\n\n");
    const second = await Promise.race([stream.next(), turns().then(() => "nothing queued")]);
    expect(second).toBe("nothing queued");
    await stream.cancel();
    await read.cancel();
  });
});

describe("a client that leaves", () => {
  test("aborts the run by cancelling the stream", async () => {
    const runs = byHand();
    const pending = testApp(runs.generate).post(CHAT, STREAM);
    const run = await runs.next();
    run.emit(ACCEPTED, text("Hi"));
    const stream = reader(await pending);
    await stream.next();
    await stream.cancel();
    expect(run.signal.aborted).toBe(true);
    await run.closed;
  });

  test.each([true, false])("aborts the run over a socket, streaming: %p", async (stream) => {
    const runs = byHand();
    const app = testApp(runs.generate);
    const server = listen(app.app, { hostname: "127.0.0.1", port: 0 });
    const client = new AbortController();
    try {
      const pending = postJson(`http://127.0.0.1:${server.port}${CHAT}`, chatBody({ stream }), {
        signal: client.signal,
      });
      pending.catch(() => {}); // aborted below
      const run = await runs.next();
      run.emit(ACCEPTED, text("Hi"));
      if (stream) await reader(await pending).next();
      expect(run.signal.aborted).toBe(false);
      client.abort();
      await run.closed;
      expect(run.signal.aborted).toBe(true);
      expect(app.logged).toEqual([]);
    } finally {
      await server.stop(true);
    }
  });

  test("before accepted ends the run too", async () => {
    const runs = byHand();
    const client = new AbortController();
    const app = testApp(runs.generate);
    const pending = app.post(CHAT, STREAM, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify(STREAM),
      signal: client.signal,
    });
    const run = await runs.next();
    client.abort();
    await run.closed;
    await pending.catch(() => {});
    expect(app.logged).toEqual([]);
  });
});

describe("a run that breaks after the first token", () => {
  test("with an error event ends in-band", async () => {
    const error: RunEvent = { type: "error", error: { code: "engine_failed", message: "the engine died" } };
    const response = await testApp(playing([ACCEPTED, text("Hi"), error]).generate).post(CHAT, STREAM);
    expect(response.status).toBe(200);
    expect(parseDoneStream(await response.text()).at(-1)).toEqual({
      error: { code: "engine_failed", message: "the engine died", type: "server_error" },
    });
  });

  test("with a throw ends in-band, logged and without detail", async () => {
    const runs = byHand();
    const app = testApp(runs.generate);
    const pending = app.post(CHAT, STREAM);
    const run = await runs.next();
    run.emit(ACCEPTED, text("Hi"));
    run.fail(new Error("secret inside"));
    const last = parseDoneStream(await (await pending).text()).at(-1);
    expect(last).toMatchObject({ error: { code: "internal_error" } });
    expect(JSON.stringify(last)).not.toContain("secret");
    expect(app.logged.join()).toContain("secret inside");
  });

  test("with silence, that is without a terminal event, ends in-band", async () => {
    const app = testApp(playing([ACCEPTED, text("Hi")]).generate);
    const chunks = parseDoneStream(await (await app.post(CHAT, STREAM)).text());
    expect(chunks.at(-1)).toMatchObject({ error: { code: "internal_error" } });
    expect(app.logged.join()).toContain("without its terminal event");
  });
});

test("a failing source breaks the connection off and aborts", async () => {
  const abort = new AbortController();
  const closed = Promise.withResolvers<void>();
  const source = {
    next: () => Promise.reject(new Error("bug")),
    close: async () => closed.resolve(),
  };
  const failure = await rejection(sseResponse(source, { abort, keepAliveMs: 1000 }).text());
  expect(String(failure)).toContain("bug");
  expect(abort.signal.aborted).toBe(true);
  await closed.promise;
});

test("a slow reader holds up its own run only, and little is buffered for it", async () => {
  let made = 0;
  async function* generate(): AsyncGenerator<RunEvent> {
    yield ACCEPTED;
    for (; made < 100_000; made++) yield text("word ");
    yield end();
    yield FINISH;
  }
  const app = testApp(generate);
  const stream = reader(await app.post(CHAT, STREAM));
  await stream.next();
  await turns();
  expect(made).toBeLessThan(10);
  expect((await app.request("/health")).status).toBe(200);
  await stream.cancel();
});

test("a long stream passes through whole, taking each event once", async () => {
  const pieces = Array.from({ length: 100_000 }, () => "w ");
  let taken = 0;
  async function* generate(): AsyncGenerator<RunEvent> {
    for (const event of answer(...pieces)) {
      taken++;
      yield event;
    }
  }
  const response = await testApp(generate).post(CHAT, STREAM);
  const payload = await response.text();
  expect(taken).toBe(pieces.length + 3);
  expect(payload.split("\n\n").length).toBe(pieces.length + 4); // role, pieces, finish, [DONE], rest
});
