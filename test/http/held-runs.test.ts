// Answers of the web interface that outlive their connection: who may join them, for how long, within which bounds; and that
// the answers of other clients still end with theirs.

import { describe, expect, test } from "bun:test";
import { type Caller, SERVER } from "../../src/core/caller.ts";
import { Admission } from "../../src/http/admission.ts";
import { ApiKeys } from "../../src/http/api-keys.ts";
import { type HeldRun, HeldRuns, STOPPED_FRAME } from "../../src/http/held-runs.ts";
import type { FrameSource } from "../../src/http/sse.ts";
import { chatBody, pageApp as testApp } from "../helpers/app.ts";
import { ACCEPTED, answer, byHand, end, FINISH, playing, text } from "../helpers/run-events.ts";
import { until } from "../helpers/until.ts";

const ID = "answer-of-sixteen";

/** Deadlines that pass when the test says so. */
function deadlines() {
  const set = new Map<() => void, number>();
  const schedule = (run: () => void, ms: number) => {
    set.set(run, ms);
    return () => void set.delete(run);
  };
  const pass = (): void => {
    for (const run of set.keys()) {
      set.delete(run);
      run();
    }
  };
  return { schedule, pass, count: () => set.size };
}

/** A source of frames that the test feeds. */
function feed() {
  const stream = new TransformStream<string, string>();
  const writer = stream.writable.getWriter();
  const reader = stream.readable.getReader();
  const source: FrameSource = {
    next: async () => (await reader.read()).value,
    close: async () => undefined,
  };
  return { source, send: (frame: string) => void writer.write(frame), end: () => void writer.close() };
}

async function framesOf(source: FrameSource): Promise<readonly string[]> {
  const frames: string[] = [];
  for (let frame = await source.next(); frame !== undefined; frame = await source.next()) frames.push(frame);
  await source.close();
  return frames;
}

const noFailure = (thrown: unknown): string => `failed: ${String(thrown)}`;
const codeOf = (work: () => unknown): unknown => {
  try {
    work();
    return undefined;
  } catch (thrown) {
    return thrown instanceof Error && "code" in thrown ? thrown.code : thrown;
  }
};

const by = (owner: string): Caller => ({ client: owner, owner });

describe("a held run", () => {
  test("gives each reader all frames, and goes on while one is left", async () => {
    const clock = deadlines();
    const runs = new HeldRuns(clock);
    const run = runs.open(ID, SERVER);
    const [first, second] = [run.reader(), run.reader()];
    const { source, send, end: finish } = feed();
    const filled = run.fill(source, noFailure);
    send("a");
    expect(await first.next()).toBe("a");
    await first.close();
    expect(clock.count()).toBe(0);
    send("b");
    finish();
    await filled;
    expect(await framesOf(second)).toEqual(["a", "b"]);
    expect(await framesOf(runs.find(ID, SERVER).reader())).toEqual(["a", "b"]);
    clock.pass();
    expect(codeOf(() => runs.find(ID, SERVER))).toBe("run_not_found");
  });

  test("is ended when nobody has read it for the grace period, and says so", async () => {
    const clock = deadlines();
    const runs = new HeldRuns(clock);
    const run = runs.open(ID, SERVER);
    const { source, send, end: finish } = feed();
    const filled = run.fill(source, noFailure);
    send("a");
    const reader = run.reader();
    expect(await reader.next()).toBe("a");
    await reader.close();
    const again = run.reader();
    clock.pass();
    expect(run.abort.signal.aborted).toBe(false);
    await again.close();
    clock.pass();
    expect(run.abort.signal.aborted).toBe(true);
    finish();
    await filled;
    expect(await framesOf(runs.find(ID, SERVER).reader())).toEqual(["a", STOPPED_FRAME]);
  });

  test("that breaks ends with the failure", async () => {
    const run = new HeldRuns(deadlines()).open(ID, SERVER);
    const broken = { next: () => Promise.reject(new Error("bug")), close: async () => undefined };
    const reader = run.reader();
    await run.fill(broken, noFailure);
    expect(await framesOf(reader)).toEqual(["failed: Error: bug"]);
  });

  test("needs an id that cannot be guessed or taken", () => {
    const runs = new HeldRuns(deadlines());
    for (const id of ["", "short", "x".repeat(65), "slash/es-and-sixteen"])
      expect(codeOf(() => runs.open(id, SERVER))).toBe("invalid_request");
    runs.open(ID, SERVER);
    expect(codeOf(() => runs.open(ID, SERVER))).toBe("run_exists");
  });

  test("belongs to its key", () => {
    const runs = new HeldRuns(deadlines());
    runs.open(ID, by("a"));
    expect(codeOf(() => runs.find(ID, by("b")))).toBe("run_not_found");
    expect(codeOf(() => runs.find(ID, by("a")))).toBeUndefined();
  });
});

describe("held runs are bounded", () => {
  const finished = async (runs: HeldRuns, id: string, frame: string): Promise<void> => {
    const { source, send, end: finish } = feed();
    const filled = runs.open(id, SERVER).fill(source, noFailure);
    send(frame);
    finish();
    await filled;
  };

  test("in number: one that was read goes first, a running one never", async () => {
    const runs = new HeldRuns({ ...deadlines(), runsMax: 3 });
    await finished(runs, `${ID}-1`, "a");
    await finished(runs, `${ID}-2`, "b");
    await framesOf(runs.find(`${ID}-2`, SERVER).reader());
    runs.open(`${ID}-3`, SERVER);
    runs.open(`${ID}-4`, SERVER);
    expect(codeOf(() => runs.find(`${ID}-1`, SERVER))).toBeUndefined();
    expect(codeOf(() => runs.find(`${ID}-2`, SERVER))).toBe("run_not_found");
    runs.open(`${ID}-5`, SERVER);
    expect(codeOf(() => runs.open(`${ID}-6`, SERVER))).toBe("queue_full");
  });

  test("in bytes: finished ones go first, then one cannot be joined, and its reader misses nothing", async () => {
    const runs = new HeldRuns({ ...deadlines(), bytesMax: 10 });
    await finished(runs, `${ID}-1`, "12345");
    const run = runs.open(ID, SERVER);
    const reader = run.reader();
    const { source, send, end: finish } = feed();
    const filled = run.fill(source, noFailure);
    send("123456");
    expect(await reader.next()).toBe("123456");
    expect(codeOf(() => runs.find(`${ID}-1`, SERVER))).toBe("run_not_found");
    const next = reader.next();
    send("äääää");
    finish();
    await filled;
    expect(await next).toBe("äääää");
    expect(await reader.next()).toBeUndefined();
    expect(codeOf(() => runs.find(ID, SERVER))).toBe("run_not_found");
  });
});

describe("held runs are shared fairly", () => {
  const id = (n: number): string => `answer-number-${String(n).padStart(4, "0")}`;
  const finished = (run: HeldRun): void => run.fail("the end");

  test("small runs of one key drop no unread answer of another, and lock no other out", () => {
    const runs = new HeldRuns({ ...deadlines(), runsMax: 8 });
    finished(runs.open("the-answer-of-key-b", by("b")));
    for (let n = 0; n < 100; n++) finished(runs.open(id(n), by("a")));
    expect(runs.find("the-answer-of-key-b", by("b")).isEnded).toBe(true);
    expect(codeOf(() => runs.find(id(0), by("a")))).toBe("run_not_found");
    for (let n = 100; n < 107; n++) runs.open(id(n), by("a")); // these go on
    expect(codeOf(() => runs.open(id(200), by("a")))).toBe("queue_full");
    expect(codeOf(() => runs.open(id(300), by("b")))).toBeUndefined();
    expect(codeOf(() => runs.find("the-answer-of-key-b", by("b")))).toBeUndefined();
  });

  test("frames of one key take no room from another's", () => {
    const runs = new HeldRuns({ ...deadlines(), bytesMax: 1000 });
    runs.open("the-answer-of-key-b", by("b")).fail("b".repeat(100));
    const endless = runs.open(id(1), by("a"));
    for (let n = 2; n < 20; n++) runs.open(id(n), by("a")).fail("a".repeat(300));
    const { source, send } = feed();
    void endless.fill(source, noFailure);
    send("x".repeat(950));
    expect(runs.find("the-answer-of-key-b", by("b")).isWhole).toBe(true);
  });
});

describe("over HTTP", () => {
  const ask = (
    id: string | undefined,
    signal: AbortSignal,
    body = chatBody({ stream: true }),
  ): RequestInit => ({
    method: "POST",
    headers: { "content-type": "application/json", ...(id === undefined ? {} : { "x-svc-run": id }) },
    body: JSON.stringify(body),
    signal,
  });

  test("an answer goes on without its client, and another one gets all of it", async () => {
    const { generate, next } = byHand();
    const { request } = testApp(generate);
    const leaving = new AbortController();
    const asked = request("/v1/chat/completions", ask(ID, leaving.signal));
    const run = await next();
    run.emit(ACCEPTED, text("Hel"));
    const response = await asked;
    await response.body?.cancel();
    leaving.abort();
    run.emit(text("lo"));
    const joined = await request(`/ui/runs/${ID}`);
    expect(joined.headers.get("content-type")).toContain("text/event-stream");
    run.emit(end(), FINISH);
    const body = await joined.text();
    expect(body).toContain('"content":"Hel"');
    expect(body).toContain('"content":"lo"');
    expect(body).toEndWith("data: [DONE]\n\n");
    expect(run.signal.aborted).toBe(false);
  });

  test("is ended by its page, and its readers learn so", async () => {
    const { generate, next } = byHand();
    const { request } = testApp(generate);
    const asked = request("/v1/chat/completions", ask(ID, new AbortController().signal));
    const run = await next();
    run.emit(ACCEPTED, text("Hel"));
    const reading = (await asked).text();
    expect((await request(`/ui/runs/${ID}`, { method: "DELETE" })).status).toBe(204);
    expect(await reading).toEndWith(STOPPED_FRAME);
    expect(run.signal.aborted).toBe(true);
  });

  test("a refusal keeps its status, also for a client that joins later", async () => {
    const error = { code: "model_unavailable", message: "no such luck" } as const;
    const { request } = testApp(playing([{ type: "error", error }]).generate);
    const response = await request("/v1/chat/completions", ask(ID, new AbortController().signal));
    expect(response.status).toBe(503);
    expect(await (await request(`/ui/runs/${ID}`)).text()).toContain("no such luck");
  });

  test("an answer of any other client still ends with its connection", async () => {
    const { generate, next } = byHand();
    const { request } = testApp(generate);
    const asked = request("/v1/chat/completions", ask(undefined, new AbortController().signal));
    const run = await next();
    run.emit(ACCEPTED, text("Hel"));
    await (await asked).body?.cancel();
    await until("the run is ended", () => run.signal.aborted);
  });

  test("an answer that is not streamed is not held", async () => {
    const { request } = testApp();
    const response = await request("/v1/chat/completions", ask(ID, new AbortController().signal, chatBody()));
    expect(response.status).toBe(200);
    expect((await request(`/ui/runs/${ID}`)).status).toBe(404);
  });

  test("needs the key under which it was asked", async () => {
    const keys = new ApiKeys(["first", "second"]);
    const admission = new Admission({
      keys,
      addressOf: () => "here",
      placesOf: () => 100,
      isCrowded: () => false,
    });
    const { request } = testApp(playing(answer("Hi")).generate, { apiKeys: keys, admission });
    const as = (key: string, path: string, init: RequestInit = {}) => {
      const headers = new Headers(init.headers);
      headers.set("authorization", `Bearer ${key}`);
      return request(path, { ...init, headers });
    };
    await (await as("first", "/v1/chat/completions", ask(ID, new AbortController().signal))).text();
    expect((await request(`/ui/runs/${ID}`)).status).toBe(401);
    expect((await as("second", `/ui/runs/${ID}`)).status).toBe(404);
    expect((await as("second", `/ui/runs/${ID}`, { method: "DELETE" })).status).toBe(404);
    expect((await as("first", `/ui/runs/${ID}`)).status).toBe(200);
  });
});
