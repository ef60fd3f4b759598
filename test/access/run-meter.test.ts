// Tokens of runs: whatever comes at once, a key's limit is never passed, and what did not run is not charged.

import { describe, expect, test } from "bun:test";
import { KeyQuotas } from "../../src/access/quotas.ts";
import { meteredRuns } from "../../src/access/run-meter.ts";
import { UsageBook } from "../../src/access/usage-book.ts";
import type { Account, AccountLimits } from "../../src/core/account.ts";
import type { Caller } from "../../src/core/caller.ts";
import { answerCap, type Generate, type RunEvent, type RunRequest, type Usage } from "../../src/core/run.ts";
import { memoryState } from "../../src/state/memory.ts";
import { ownedState } from "../../src/state/owned.ts";
import { turns } from "../helpers/turns.ts";
import { asking, calling, fakeTool, saying, scripted, testLoop } from "../helpers/agent.ts";
import { byHand, end, text } from "../helpers/run-events.ts";
import { randomBelow } from "../helpers/grammar.ts";
import { chat } from "../helpers/upstream-model.ts";

function counting(limits: AccountLimits) {
  const account: Account = { owner: "mia", name: "mia", role: "user", limits, weight: 1 };
  const usage = new UsageBook(ownedState(memoryState()), () => 0);
  const quotas = new KeyQuotas({
    tokensToday: (owner) => usage.tokensToday(owner),
    clock: () => 0,
    elapsed: () => 0,
  });
  const caller: Caller = { client: "", account };
  const over = (generate: Generate, name?: string): Generate =>
    meteredRuns({ quotas, usage, models: () => [] }, generate, name);
  return { account, usage, quotas, caller, over, rows: () => usage.read({ client: "" }, {}) };
}

const signal = new AbortController().signal;
const run = (fields: Partial<RunRequest> = {}): RunRequest => chat({ model: "tiny", ...fields });

/** An engine that writes as much as it may, piece by piece, beside others. */
function greedy(promptTokens: number): Generate {
  return async function* ({ choices, ...bounds }): AsyncGenerator<RunEvent> {
    await Bun.sleep(0);
    const cap = answerCap({ choices, ...bounds }, promptTokens) ?? 5000;
    yield { type: "accepted", promptTokens };
    await Bun.sleep(0);
    yield { type: "prompt_progress", total: promptTokens, cached: 0, processed: promptTokens, ms: 0 };
    yield text("a");
    await Bun.sleep(0);
    const usage = { promptTokens, cachedTokens: 0, completionTokens: cap * choices, reasoningTokens: 0 };
    yield { type: "finish", usage, timings: { promptSecs: 0, completionSecs: 0 } };
  };
}

test.each([1, 2, 3, 4, 5, 6])("no mix of runs passes a limit (%p)", async (seed) => {
  const below = randomBelow(seed);
  const limit = 2000 + below(60_000);
  const { quotas, account, caller, over, usage } = counting({
    tokensPerDay: limit,
    tokensPerMinute: 2 * limit,
  });
  const one = async (): Promise<string> => {
    const leaving = new AbortController();
    const fields = { choices: 1 + below(4), ...(below(2) === 0 ? {} : { maxTokens: below(900) }) };
    const leavesAt = below(12);
    let events = 0;
    for await (const event of over(greedy(1 + below(700)))(run(fields), leaving.signal, caller)) {
      if (event.type === "error") return event.error.code;
      if (events++ === leavesAt) leaving.abort();
    }
    return "done";
  };
  const ends: string[] = [];
  for (let round = 0; round < 12; round++) ends.push(...(await Promise.all(Array.from({ length: 12 }, one))));
  const spent = usage.tokensToday(account.owner);
  expect(spent).toBeLessThanOrEqual(limit);
  expect(quotas.left(account)).toBe(limit - spent); // nothing stays set aside
  expect(new Set(ends)).toEqual(new Set(["done", "rate_limit_exceeded"]));
  expect(spent).toBeGreaterThan(limit * 0.9);
});

describe("who leaves is charged for what ran:", () => {
  const left = async (...events: readonly RunEvent[]) => {
    const { caller, over, rows, quotas, account } = counting({ tokensPerMinute: 1000 });
    const engine = byHand();
    const leaving = new AbortController();
    const reading = Array.fromAsync(over(engine.generate)(run(), leaving.signal, caller));
    const started = await engine.next();
    started.emit(...events);
    while (started.taken() < events.length) await Bun.sleep(0);
    leaving.abort();
    started.stop();
    const seen = await reading;
    const spent = rows().map(({ promptTokens, completionTokens }) => [promptTokens, completionTokens]);
    expect(quotas.left(account)).toBe(1000 - (spent[0]?.[0] ?? 0) - (spent[0]?.[1] ?? 0));
    return { spent, seen };
  };
  const progress = { type: "prompt_progress", total: 50, cached: 3, processed: 20, ms: 1 } as const;

  test("nothing in a queue, and nothing before the prompt is computed", async () => {
    expect((await left()).spent).toEqual([]);
    expect((await left({ type: "accepted", promptTokens: 50 })).spent).toEqual([]);
  });

  test("a part of the prompt, which is not reported to who did not ask", async () => {
    const { spent, seen } = await left({ type: "accepted", promptTokens: 50 }, progress);
    expect(spent).toEqual([[20, 0]]);
    expect(seen).toEqual([{ type: "accepted", promptTokens: 50 }]);
  });

  test("what the engine has drawn, when it says so: texts and calls hold tokens back", async () => {
    const { caller, over, rows, quotas, account } = counting({ tokensPerMinute: 1000 });
    const stopped = Promise.withResolvers<Usage | undefined>();
    const leaving = new AbortController();
    const engine: Generate = async function* (_request, signal, { leaves }) {
      signal.addEventListener("abort", () => leaves?.(stopped.promise));
      yield { type: "accepted", promptTokens: 50 };
      yield { type: "tool_call_start", choice: 0, index: 0, id: "1", name: "write" };
      leaving.abort();
    };
    await Array.fromAsync(over(engine)(run({ maxTokens: 900 }), leaving.signal, caller));
    expect(quotas.left(account)).toBe(50); // set aside until it is known
    stopped.resolve({ promptTokens: 50, cachedTokens: 0, completionTokens: 700, reasoningTokens: 0 });
    await stopped.promise;
    expect(rows()).toMatchObject([{ promptTokens: 50, completionTokens: 700 }]);
    expect(quotas.left(account)).toBe(250);
  });

  test("nothing where it is refused, whatever the engine has computed until it stops", async () => {
    const { caller, over, rows } = counting({ tokensPerMinute: 100 });
    const usage = { promptTokens: 50, cachedTokens: 0, completionTokens: 7, reasoningTokens: 0 };
    const engine: Generate = async function* (_request, stop, { leaves }) {
      stop.addEventListener("abort", () => leaves?.(Promise.resolve(usage)));
      yield { type: "accepted", promptTokens: 50 };
    };
    const seen = await Array.fromAsync(over(engine)(run({ maxTokens: 900 }), signal, caller));
    expect(seen).toMatchObject([{ type: "error" }]);
    await turns();
    expect(rows()).toEqual([]);
  });

  test("the prompt and the pieces", async () => {
    expect((await left({ type: "accepted", promptTokens: 50 }, text("a"), text("b"))).spent).toEqual([
      [50, 2],
    ]);
  });
});

test("a prompt beyond the estimate has its tokens set aside once it is counted, or is refused", async () => {
  const { caller, over } = counting({ tokensPerMinute: 8000 });
  const ended = await Array.fromAsync(over(greedy(7000))(run(), signal, caller));
  expect(ended.at(-1)).toMatchObject({ type: "error", error: { code: "rate_limit_exceeded" } });
  const fits = await Array.fromAsync(over(greedy(5000))(run(), signal, caller));
  expect(fits.at(-1)?.type).toBe("finish");
});

test("a later round that a key has no tokens for ends the answer, and nothing is charged for it", async () => {
  const { caller, over, rows } = counting({ tokensPerMinute: 40 });
  const script = scripted(
    calling(["look", {}]),
    [{ type: "accepted", promptTokens: 30 }, text("no"), end()],
    saying("no"),
  );
  const { converse } = testLoop({
    generate: over(script.generate, "named"),
    tools: [fakeTool({ name: "look" })],
  });
  const events = await Array.fromAsync(converse(asking({}, { maxTokens: 12 }), signal, caller));
  expect(events.slice(-2)).toMatchObject([
    { type: "choice_end", reason: "length" },
    { type: "finish", usage: { promptTokens: 12, completionTokens: 8 } },
  ]);
  expect(rows()).toMatchObject([{ model: "named", promptTokens: 12, completionTokens: 8 }]);
});
