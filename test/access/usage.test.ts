// What is counted for keys: by the dialects over HTTP, over a restart, and for answers that are broken off.

import { describe, expect, test } from "bun:test";
import { join } from "node:path";
import { metered } from "../../src/access/metered.ts";
import { meteredRuns } from "../../src/access/run-meter.ts";
import { KeyQuotas } from "../../src/access/quotas.ts";
import { UsageBook } from "../../src/access/usage-book.ts";
import { type Account, accountOf, type AccountFields, keyDigest, ownerOf } from "../../src/core/account.ts";
import { ServiceError } from "../../src/core/error.ts";
import {
  type Embed,
  type Generate,
  type Rank,
  type RunEvent,
  type RunRequest,
  WorkLeft,
} from "../../src/core/run.ts";
import type { State } from "../../src/core/state.ts";
import { Admission } from "../../src/http/admission.ts";
import { ApiKeys } from "../../src/http/api-keys.ts";
import { memoryState } from "../../src/state/memory.ts";
import { ownedState } from "../../src/state/owned.ts";
import { sqliteState } from "../../src/state/sqlite.ts";
import { chatBody, messagesBody, responsesBody, testApp, testDeps, textBody } from "../helpers/app.ts";
import { answer, playing } from "../helpers/run-events.ts";
import { tempDir } from "../helpers/tmp.ts";
import { chat } from "../helpers/upstream-model.ts";

const KEYS = Object.entries({
  anna: { role: "user" },
  otto: { role: "user", rpm: 3 },
  nina: { role: "user", models: ["other-*"] },
  boss: { role: "admin" },
} satisfies Record<string, AccountFields>).map(([name, fields]) => {
  return { digest: keyDigest(name), account: accountOf(fields, { owner: ownerOf("name", name), name }) };
});

/** An application that counts as the server does. */
function countingApp(generate: Generate = playing(answer("Hi")).generate, state: State = memoryState()) {
  const usage = new UsageBook(ownedState(state));
  const quotas = new KeyQuotas({
    tokensToday: (owner) => usage.tokensToday(owner),
    clock: Date.now,
    elapsed: Date.now,
  });
  const apiKeys = new ApiKeys([], { named: () => KEYS });
  const admission = new Admission({
    keys: apiKeys,
    quotas,
    addressOf: (peer) => peer,
    placesOf: () => 200,
    isCrowded: () => false,
  });
  const log = () => undefined;
  const deps = testDeps(generate, { log });
  const counts = { quotas, usage, models: deps.models };
  const { converse } = testDeps(meteredRuns(counts, generate), { log });
  const work = metered(counts, { ...deps, converse });
  const app = testApp(generate, { ...work, apiKeys, admission, quotas, usage: usage.read });
  const as = (key: string, path: string, body?: unknown) =>
    body === undefined
      ? app.request(path, { headers: { "x-api-key": key } })
      : app.post(path, body, { headers: { "x-api-key": key, "content-type": "application/json" } });
  return { as, usage };
}

const ROUTES: readonly (readonly [string, unknown])[] = [
  ["/v1/chat/completions", chatBody()],
  ["/v1/chat/completions", chatBody({ stream: true })],
  ["/v1/messages", messagesBody()],
  ["/v1/responses", responsesBody()],
  ["/v1/completions", textBody()],
  ["/api/chat", { model: "tiny", messages: [{ role: "user", content: "Hi" }], stream: false }],
];

describe("an answer", () => {
  test.each(ROUTES)("of %s is counted once, and users see their own alone", async (path, body) => {
    const { as } = countingApp();
    const answered = await as("anna", path, body);
    expect(answered.status).toBe(200);
    await answered.text();
    await (await as("otto", path, body)).text();
    const own = await (await as("anna", "/v1/usage")).json();
    expect(own.data).toHaveLength(1);
    expect(own.data[0]).toMatchObject({ key: "anna", model: "tiny", requests: 1 });
    expect(own.total.prompt_tokens).toBeGreaterThan(0);
    expect(own.total.completion_tokens).toBeGreaterThan(0);
    const all = await (await as("boss", "/v1/usage")).json();
    expect(all.data.map(({ key }: { key: string }) => key)).toEqual(["anna", "otto"]);
    expect((await (await as("boss", "/v1/usage?key=otto&to=2020-01-01")).json()).data).toEqual([]);
  });

  test("that is broken off counts with what it had; one that is only counted does not", async () => {
    const left = Promise.withResolvers<void>();
    async function* hanging(): AsyncGenerator<RunEvent> {
      yield { type: "accepted", promptTokens: 7 };
      yield { type: "text", choice: 0, text: "a" };
      yield { type: "text", choice: 0, text: "b" };
      await left.promise;
    }
    const { as, usage } = countingApp(hanging);
    const answered = await as("anna", "/v1/chat/completions", chatBody({ stream: true }));
    const reader = answered.body?.getReader();
    for (let text = ""; !text.includes('"b"');)
      text += new TextDecoder().decode((await reader?.read())?.value);
    const leaving = reader?.cancel();
    left.resolve();
    await leaving;
    const [row] = usage.read({ client: "" }, {});
    expect(row).toMatchObject({ key: "anna", requests: 1, promptTokens: 7, completionTokens: 2 });
    const counting = countingApp();
    await (await counting.as("anna", "/v1/messages/count_tokens", messagesBody())).text();
    expect(counting.usage.read({ client: "" }, {})).toEqual([]);
  });

  test("beyond a limit is refused in the form of each dialect, with headers; 64 at once get exactly their limit", async () => {
    const { as, usage } = countingApp();
    const all = await Promise.all(
      Array.from({ length: 64 }, () => as("otto", "/v1/chat/completions", chatBody())),
    );
    expect(all.filter(({ status }) => status === 200)).toHaveLength(3);
    const refused = all.find(({ status }) => status === 429);
    expect(refused?.headers.get("x-ratelimit-remaining-requests")).toBe("0");
    expect(Number(refused?.headers.get("retry-after"))).toBeGreaterThan(50);
    expect(await refused?.json()).toMatchObject({
      error: { code: "rate_limit_exceeded", type: "rate_limit_error" },
    });
    const message = await as("otto", "/v1/messages", messagesBody());
    expect(message.headers.get("anthropic-ratelimit-requests-limit")).toBe("3");
    expect(await message.json()).toMatchObject({ type: "error", error: { type: "rate_limit_error" } });
    expect((await (await as("otto", "/api/chat", ROUTES[5]?.[1])).json()).error).toContain(
      "3 requests a minute",
    );
    expect(usage.read({ client: "" }, {})[0]?.requests).toBe(3);
    expect((await as("otto", "/v1/usage")).headers.has("x-ratelimit-limit-requests")).toBe(false);
  });
});

describe("a small budget", () => {
  const account = (limits: Account["limits"]): Account => {
    return { owner: "mia", name: "mia", role: "user", limits, weight: 1 };
  };
  /** Work of models behind a meter, and what it was asked for. */
  function meteredWork({
    result,
    spentTokens = 0,
  }: { result?: () => Promise<never>; spentTokens?: number } = {}) {
    const usage = new UsageBook(ownedState(memoryState()));
    const quotas = new KeyQuotas({ tokensToday: () => spentTokens, clock: Date.now, elapsed: Date.now });
    const bounds: (number | undefined)[] = [];
    const { generate, requests: asked } = playing(answer("Hi"));
    const rank: Rank = () => Promise.resolve({ scores: [1], promptTokens: 9 });
    const embed: Embed = ({ tokensMax }) => {
      bounds.push(tokensMax);
      return (result ?? (() => Promise.reject(new Error("nothing is embedded here"))))();
    };
    const base = { ...testDeps(generate, { log: () => undefined }), rank, embed };
    const work = metered({ quotas, usage, models: base.models }, base);
    return { work, usage, quotas, asked, bounds };
  }
  const run = (fields: Partial<RunRequest> = {}): RunRequest => {
    return chat({ model: "tiny", ...fields });
  };
  const signal = new AbortController().signal;

  test.each([
    [{ tokensPerDay: 1000 }, {}, 400],
    [{ tokensPerDay: 1000 }, { choices: 4 }, 100],
    [{ tokensPerMinute: 300, tokensPerDay: 1000 }, {}, 300],
    [{ tokensPerDay: 1000 }, { maxTokens: 7 }, 7],
    [{ requestsPerMinute: 5 }, {}, undefined],
  ])("%p ends an answer of %p at %p tokens", async (limits, fields, bound) => {
    const { work, asked } = meteredWork({ spentTokens: 600 });
    await Array.fromAsync(work.generate(run(fields), signal, { client: "", account: account(limits) }));
    expect(asked[0]?.maxTokens).toBe(bound);
  });

  test("tells embeddings and scores what they may read, and passes on what the engine says", async () => {
    const refused = () =>
      Promise.reject(new ServiceError("rate_limit_exceeded", "the request has 101 tokens"));
    const { work, usage, bounds, quotas } = meteredWork({ result: refused });
    const caller = { client: "", account: account({ tokensPerMinute: 100 }) };
    const embed = (inputs: readonly string[]) =>
      work.embed({ model: "tiny", inputs, truncate: false }, signal, caller);
    expect(embed(["\u00e9".repeat(60)])).rejects.toMatchObject({
      message: "the request has 101 tokens",
      retryAfterSecs: expect.any(Number),
    });
    await Bun.sleep(0);
    expect(embed(["a"]).catch(() => undefined)).resolves.toBeUndefined();
    await work.rank({ model: "tiny", query: "word", documents: ["word"], truncate: false }, signal, caller);
    expect(bounds).toEqual([100, undefined]);
    expect(usage.read({ client: "" }, {})).toMatchObject([{ requests: 1, promptTokens: 9 }]);
    expect(quotas.left(caller.account)).toBe(91);
  });

  test("pays for embeddings that are broken off as far as they came, and not for those that fail", async () => {
    const outcomes = [new WorkLeft("gone", 20), new WorkLeft("gone", 0), new Error("the engine is gone")];
    const { work, usage } = meteredWork({ result: () => Promise.reject(outcomes.shift()) });
    const caller = { client: "", account: account({ tokensPerMinute: 1000 }) };
    const request = { model: "tiny", inputs: ["a".repeat(80)], truncate: false };
    const reasons = [0, 1, 2].map(() => work.embed(request, signal, caller).catch(String));
    expect(await Promise.all(reasons)).toEqual(["gone", "gone", "Error: the engine is gone"]);
    expect(usage.read({ client: "" }, {})).toMatchObject([{ requests: 1, promptTokens: 20 }]);
  });
});

test("a key that may not use a model gets 403, and does not see it", async () => {
  const { as } = countingApp();
  for (const [path, body] of ROUTES) expect((await as("nina", path, body)).status, path).toBe(403);
  expect((await as("nina", "/v1/embeddings", { model: "tiny", input: "a" })).status).toBe(403);
  expect((await (await as("nina", "/v1/models")).json()).data).toEqual([]);
  expect((await (await as("anna", "/v1/models")).json()).data).not.toEqual([]);
});

test("a table for spreadsheets, and one's own account", async () => {
  const { as } = countingApp();
  await (await as("anna", "/v1/chat/completions", chatBody())).text();
  const csv = await as("anna", "/v1/usage?format=csv");
  expect(csv.headers.get("content-type")).toContain("text/csv");
  expect((await csv.text()).split("\r\n")[1]).toMatch(/^\d{4}-\d\d-\d\d,anna,tiny,1,\d+,\d+,\d+,\d+,0,/);
  expect(await (await as("otto", "/v1/me")).json()).toMatchObject({
    name: "otto",
    role: "user",
    signed_in_by: "key",
    limits: { rpm: 3 },
    usage_today: { requests: 0 },
  });
  for (const query of ["from=yesterday", "from=2026-02-30", "to=0000-00-00", "from=2026-11-02&to=2026-11-01"])
    expect((await as("anna", `/v1/usage?${query}`)).status, query).toBe(400);
  expect((await as("anna", "/v1/usage?format=xml")).status).toBe(400);
});

test("usage is there after a restart, and today's budget knows it", async () => {
  const path = join(tempDir(), "state.db");
  const open = () => sqliteState({ path, log: () => undefined });
  const first = open();
  const counting = countingApp(undefined, first);
  for (let round = 0; round < 3; round++)
    await (await counting.as("anna", "/v1/chat/completions", chatBody())).text();
  const before = counting.usage.read({ client: "" }, {});
  first.close();
  const second = open();
  const after = new UsageBook(ownedState(second));
  expect(after.read({ client: "" }, {})).toEqual(before);
  expect(after.tokensToday(ownerOf("name", "anna"))).toBeGreaterThan(0);
  expect([...after.sinceStart()]).toEqual([]);
  second.close();
});
