// Limits per key: exact however many clients race.

import { describe, expect, test } from "bun:test";
import { KeyQuotas } from "../../src/access/quotas.ts";
import { Minute } from "../../src/access/minute.ts";
import { type Account, type AccountLimits } from "../../src/core/account.ts";
import { ServiceError } from "../../src/core/error.ts";

const account = (limits: AccountLimits, owner = "anna"): Account => {
  return { owner, name: owner, role: "user", limits, weight: 1 };
};

function quotasAt(startMs = 0, spent = new Map<string, number>()) {
  const clock = { nowMs: startMs };
  const now = (): number => clock.nowMs;
  const quotas = new KeyQuotas({ tokensToday: (owner) => spent.get(owner) ?? 0, clock: now, elapsed: now });
  return { quotas, clock, spent };
}

/** What a call gives, or the refusal. */
function tried<T>(work: () => T): T | ServiceError {
  try {
    return work();
  } catch (error) {
    if (error instanceof ServiceError) return error;
    throw error;
  }
}

const isRefused = (result: unknown): result is ServiceError => result instanceof ServiceError;

test("in no minute more than a limit is counted", () => {
  for (let round = 0; round < 200; round++) {
    const minute = new Minute();
    const times: number[] = [];
    let nowMs = Math.random() * 1e9;
    for (let step = 0; step < 400; step++) {
      nowMs += Math.random() * (step % 20 === 0 ? 50_000 : 1500);
      if (minute.total(nowMs) >= 10) continue;
      minute.add(1, nowMs);
      times.push(nowMs);
    }
    for (const [index, at] of times.entries())
      expect(times.slice(index).filter((other) => other < at + 60_000).length).toBeLessThanOrEqual(10);
  }
});

test("the time until there is room is enough, and not a second too long", () => {
  const minute = new Minute();
  minute.add(4, 500);
  minute.add(3, 30_200);
  const secs = minute.secondsUntil(5, 40_000);
  expect(minute.total(40_000 + secs * 1000)).toBe(3);
  expect(secs).toBeLessThanOrEqual(22);
  expect(minute.secondsUntil(0, 40_000)).toBeGreaterThan(49);
});

describe("requests", () => {
  test("64 clients at once get as many as the minute has", async () => {
    const { quotas, clock } = quotasAt(5000);
    const anna = account({ requestsPerMinute: 10 });
    const results = await Promise.all(
      Array.from({ length: 64 }, async () => tried(() => quotas.begin(anna))),
    );
    expect(results.filter(isRefused)).toHaveLength(54);
    const refusal = results.find(isRefused);
    expect(refusal).toMatchObject({ code: "rate_limit_exceeded", status: 429 });
    expect(tried(() => quotas.begin(account({ requestsPerMinute: 10 }, "otto")))).toBeFunction();
    clock.nowMs += (refusal?.retryAfterSecs ?? 0) * 1000;
    expect(tried(() => quotas.begin(anna))).toBeFunction();
  });

  test("answers at the same time, each place given back once", () => {
    const { quotas } = quotasAt();
    const anna = account({ streams: 3 });
    const places = [1, 2, 3].map(() => quotas.begin(anna));
    expect(isRefused(tried(() => quotas.begin(anna)))).toBe(true);
    places[0]?.();
    places[0]?.();
    expect(isRefused(tried(() => quotas.begin(anna)))).toBe(false);
    expect(isRefused(tried(() => quotas.begin(anna)))).toBe(true);
  });
});

describe("tokens", () => {
  test("of a day are set aside while answers run: 64 clients never overdraw, and get all there is", () => {
    const { quotas, spent } = quotasAt();
    const anna = account({ tokensPerDay: 1000 });
    const running = Array.from({ length: 64 }, () => tried(() => quotas.reserve(anna, 50)));
    const granted = running.flatMap((one) => (isRefused(one) ? [] : [one]));
    expect(granted).toHaveLength(20);
    for (const one of granted.slice(0, 5)) {
      one.settle(20);
      spent.set("anna", (spent.get("anna") ?? 0) + 20);
    }
    const again = Array.from({ length: 64 }, () => tried(() => quotas.reserve(anna, 50)));
    expect(again.filter((one) => !isRefused(one))).toHaveLength(3);
  });

  test("an answer without a bound has a share of what is left, and one that asks for too much learns why", () => {
    const { quotas } = quotasAt();
    const anna = account({ tokensPerMinute: 40_000 });
    expect(quotas.share(anna, 1)).toBe(10_000);
    quotas.reserve(anna, 38_000);
    expect(quotas.share(anna, 1)).toBe(1024);
    expect(quotas.share(anna, 4)).toBe(2000);
    quotas.reserve(anna, 1999);
    expect(quotas.share(anna, 1)).toBe(1);
    expect(isRefused(tried(() => quotas.share(anna, 2)))).toBe(true);
    const hopeless = tried(() => quotas.reserve(account({ tokensPerMinute: 100 }, "otto"), 210));
    expect(hopeless).toMatchObject({ message: expect.stringContaining("lower max_tokens") });
  });

  test("the day ends at midnight UTC", () => {
    const { quotas } = quotasAt(Date.parse("2026-11-28T23:00:00Z"), new Map([["anna", 50]]));
    const refused = quotas.refusal(account({ tokensPerDay: 50 }));
    expect(refused?.retryAfterSecs).toBe(3600);
  });
});

test("headers are those of each dialect", () => {
  const { quotas } = quotasAt(Date.parse("2026-11-28T12:00:00Z"), new Map([["anna", 900]]));
  const anna = account({ requestsPerMinute: 10, tokensPerMinute: 500, tokensPerDay: 1000 });
  quotas.begin(anna);
  expect(quotas.headers(anna, "openai")).toEqual({
    "x-ratelimit-limit-requests": "10",
    "x-ratelimit-remaining-requests": "9",
    "x-ratelimit-reset-requests": "1m1s",
    "x-ratelimit-limit-tokens": "1000",
    "x-ratelimit-remaining-tokens": "100",
    "x-ratelimit-reset-tokens": "12h0m0s",
  });
  expect(quotas.headers(anna, "messages")).toEqual({
    "anthropic-ratelimit-requests-limit": "10",
    "anthropic-ratelimit-requests-remaining": "9",
    "anthropic-ratelimit-requests-reset": "2026-11-28T12:01:01Z",
    "anthropic-ratelimit-tokens-limit": "1000",
    "anthropic-ratelimit-tokens-remaining": "100",
    "anthropic-ratelimit-tokens-reset": "2026-11-29T00:00:00Z",
  });
  expect(quotas.headers(account({}), "openai")).toEqual({});
});
