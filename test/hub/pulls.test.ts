// Downloads of a server: how many at a time, pause, resume, states.

import { expect, test } from "bun:test";
import type { HubPull } from "../../src/core/hub.ts";
import { Pulls, type PullWork } from "../../src/hub/pulls.ts";

const failureOf = (error: unknown) => ({ code: "hub_unavailable" as const, message: String(error) });

interface Script {
  readonly work: PullWork;
  readonly began: Promise<void>;
  finish(): void;
  fail(): void;
  progress(bytes: number): void;
  readonly counts: { runs: number; discards: number };
}

/** A download of 100 bytes that does as it is told. */
function script(model: string): Script {
  const began = Promise.withResolvers<void>();
  let end = Promise.withResolvers<void>();
  let report: (path: string, bytes: number) => void = () => undefined;
  const counts = { runs: 0, discards: 0 };
  const work: PullWork = {
    model,
    files: [{ path: "m.gguf", bytes: 100, doneBytes: 10 }],
    run: async (onFile, signal) => {
      counts.runs++;
      report = onFile;
      began.resolve();
      end = Promise.withResolvers();
      signal.addEventListener("abort", () => end.reject(signal.reason), { once: true });
      await end.promise;
    },
    discard: () => void counts.discards++,
  };
  return {
    work,
    began: began.promise,
    finish: () => end.resolve(),
    fail: () => end.reject(new Error("broken")),
    progress: (bytes) => report("m.gguf", bytes),
    counts,
  };
}

const never = new AbortController().signal;

/** Follows a pull to its end. */
function statesOf(pull: { states(signal: AbortSignal): AsyncGenerator<HubPull> }): Promise<HubPull[]> {
  return Array.fromAsync(pull.states(never));
}

test("a bounded number at a time; the others wait", async () => {
  const pulls = new Pulls({ failureOf, atOnce: 1 });
  const [one, two] = [script("a/one"), script("a/two")];
  const first = pulls.start("a/one", one.work);
  const second = pulls.start("a/two", two.work);
  await one.began;
  expect(pulls.list().map(({ model, status }) => [model, status])).toEqual([
    ["a/two", "queued"],
    ["a/one", "downloading"],
  ]);
  expect(pulls.reservedBytes("a/one")).toBe(90);
  one.finish();
  expect((await statesOf(first)).at(-1)?.status).toBe("completed");
  await two.began;
  two.finish();
  expect((await statesOf(second)).at(-1)?.status).toBe("completed");
});

test("progress with speed, in a clock's own time; an event holds the newest state", async () => {
  let nowMs = 0;
  const pulls = new Pulls({ failureOf, clock: () => nowMs });
  const { work, began, progress, finish } = script("a/b");
  const pull = pulls.start("a/b", work);
  await began;
  for (const bytes of [20, 40, 60]) {
    nowMs += 1000;
    progress(bytes);
  }
  expect(pull.now()).toMatchObject({
    completed_bytes: 60,
    total_bytes: 100,
    bytes_per_second: 20,
    seconds_left: 2,
  });
  finish();
  const states = await statesOf(pull);
  expect(states.map(({ status }) => status).at(-1)).toBe("completed");
});

test("pause keeps, resume goes on under the same id, discard deletes", async () => {
  const pulls = new Pulls({ failureOf });
  const { work, began, counts } = script("a/b");
  const pull = pulls.start("a/b", work);
  const { id } = pull.now();
  await began;
  expect(pulls.start("a/b", work).now().id).toBe(id); // joined
  expect(counts.runs).toBe(1);
  expect(await pulls.find(id).pause()).toMatchObject({ status: "paused", error: null });
  expect(pulls.start("a/b", work).now()).toMatchObject({ id, status: "queued" });
  await pulls.discard(id);
  expect(counts.discards).toBe(1);
  expect(pulls.list()).toEqual([]);
  expect(() => pulls.find(id)).toThrow("unknown pull");
});

test("a pull that is resumed while it pauses goes on", async () => {
  const pulls = new Pulls({ failureOf });
  const { work, began, counts, finish } = script("a/b");
  const pull = pulls.start("a/b", work);
  await began;
  const paused = pulls.find(pull.now().id).pause();
  pulls.start("a/b", work);
  await paused;
  while (counts.runs < 2) await Promise.resolve();
  finish();
  expect((await statesOf(pull)).at(-1)?.status).toBe("completed");
});

test("a failure is stated; another start tries again", async () => {
  const pulls = new Pulls({ failureOf });
  const { work, began, fail, counts } = script("a/b");
  const pull = pulls.start("a/b", work);
  await began;
  fail();
  expect((await statesOf(pull)).at(-1)).toMatchObject({
    status: "failed",
    error: { code: "hub_unavailable", message: "Error: broken" },
  });
  pulls.start("a/b", work);
  while (counts.runs < 2) await Promise.resolve();
  await pulls.stop();
});

test("a pull pauses with its last client only", async () => {
  const pulls = new Pulls({ failureOf });
  const { work, began } = script("a/b");
  const pull = pulls.start("a/b", work);
  await began;
  const [one, two] = [new AbortController(), new AbortController()];
  const ends = [one, two].map(({ signal }) => Array.fromAsync(pull.states(signal)));
  await Promise.resolve();
  one.abort();
  await ends[0];
  pulls.leave(pull.now().id);
  expect(pull.now().status).toBe("downloading");
  two.abort();
  await ends[1];
  pulls.leave(pull.now().id);
  expect((await statesOf(pull)).at(-1)?.status).toBe("paused");
});
