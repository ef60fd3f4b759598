// A team on one server: keys that change while it works, limits, usage that adds up and survives a kill.

import { afterAll, beforeAll, expect, test } from "bun:test";
import { join } from "node:path";
import { launchServer, newFolder, runBinary, type Server } from "../helpers/binary.ts";
import { valueOf } from "../helpers/prometheus.ts";
import { until } from "../helpers/until.ts";

const folder = newFolder();
const KEYS_FILE = join(folder, "keys.json");
const STATE = `sqlite:${join(folder, "state.db")}`;
/** People of the slow test, and requests of all of them. */
const IS_SLOW = process.env["SVC_SLOW_TESTS"] === "1";
const [PEOPLE, REQUESTS] = IS_SLOW ? [20, 10_000] : [4, 60];
const AT_ONCE = 32;

async function keys(...args: readonly string[]): Promise<string> {
  const { out, err, exit } = await runBinary(["keys", ...args, "--keys-file", KEYS_FILE]);
  expect(err).toBe("");
  expect(exit).toBe(0);
  return out;
}

async function newKey(name: string, ...limits: readonly string[]): Promise<string> {
  return JSON.parse(await keys("add", name, "--json", ...limits)).key;
}

const start = () =>
  launchServer(["--keys-file", KEYS_FILE, "--state", STATE, "--metrics-keys", "--queue-max", "256"]);

let server: Server;
let boss = "";
beforeAll(async () => {
  server = await start(); // without a key: the first one locks it
  boss = await newKey("boss", "--role", "admin");
  await until("the server is locked", async () => (await ask("", "/v1/models")).status === 401);
}, 60_000);
afterAll(async () => void (await server.stop()));

function ask(key: string, path: string, body?: unknown): Promise<Response> {
  const headers = {
    "content-type": "application/json",
    ...(key === "" ? {} : { authorization: `Bearer ${key}` }),
  };
  return fetch(
    server.url + path,
    body === undefined ? { headers } : { method: "POST", headers, body: JSON.stringify(body) },
  );
}

const messages = (text: string) => [{ role: "user", content: text }];

/** Tokens that a client has read off an answer: [prompt, completion]. */
type Counted = readonly [prompt: number, completion: number];
type Count = "requests" | "prompt_tokens" | "cached_tokens" | "completion_tokens" | "reasoning_tokens";
type Usage = Readonly<Record<string, number>>;

/** Requests of all kinds; each reads its answer's usage as its client would. */
const KINDS: readonly ((key: string, text: string) => Promise<Counted>)[] = [
  async (key, text) => {
    const body = { messages: messages(text), max_tokens: 4 };
    return openAi((await (await ask(key, "/v1/chat/completions", body)).json()).usage);
  },
  async (key, text) => {
    const options = { stream: true, stream_options: { include_usage: true }, max_tokens: 3 };
    const answer = await ask(key, "/v1/chat/completions", { messages: messages(text), ...options });
    const last = (await answer.text()).split("\n\n").findLast((frame) => frame.includes('"usage":{'));
    return openAi(JSON.parse(last?.slice("data: ".length) ?? "{}").usage);
  },
  async (key, text) => {
    const body = { model: "default", messages: messages(text), max_tokens: 5 };
    const { usage } = await (await ask(key, "/v1/messages", body)).json();
    return [usage.input_tokens + (usage.cache_read_input_tokens ?? 0), usage.output_tokens];
  },
  async (key, text) => {
    const { usage } = await (await ask(key, "/v1/responses", { input: text, max_output_tokens: 2 })).json();
    return [usage.input_tokens, usage.output_tokens];
  },
  async (key, text) =>
    openAi((await (await ask(key, "/v1/completions", { prompt: text, max_tokens: 3 })).json()).usage),
  async (key, text) => {
    const body = { model: "svc-tiny", messages: messages(text), stream: false, options: { num_predict: 3 } };
    const answer = await (await ask(key, "/api/chat", body)).json();
    return [answer.prompt_eval_count, answer.eval_count];
  },
];

function openAi(usage: Usage): Counted {
  return [usage["prompt_tokens"] ?? 0, usage["completion_tokens"] ?? 0];
}

test("usage is what clients have counted, and what the metrics say, also after the server was killed", async () => {
  const people = await Promise.all(
    Array.from({ length: PEOPLE }, async (_, index) => ({
      name: `p${index}`,
      key: await newKey(`p${index}`),
    })),
  );
  await until("the last key works", async () => (await ask(people.at(-1)?.key ?? "", "/v1/models")).ok);
  const counted = new Map(people.map(({ name }) => [name, { requests: 0, prompt: 0, completion: 0 }]));
  let next = 0;
  const client = async (): Promise<void> => {
    for (let at = next++; at < REQUESTS; at = next++) {
      const { name, key } = people[at % PEOPLE] ?? { name: "", key: "" };
      const kind = KINDS[Math.floor(at / PEOPLE) % KINDS.length];
      const [prompt, completion] = (await kind?.(key, `Say ${at % 17}.`)) ?? [0, 0];
      const sum = counted.get(name);
      if (sum !== undefined)
        Object.assign(sum, {
          requests: sum.requests + 1,
          prompt: sum.prompt + prompt,
          completion: sum.completion + completion,
        });
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, client));
  const usageOf = async (key: string) => {
    const { data } = await (await ask(key, "/v1/usage")).json();
    return data as readonly ({ readonly key: string } & Readonly<Record<Count, number>>)[];
  };
  const before = await usageOf(boss);
  const shown = before.map(
    (row) =>
      [
        row.key,
        { requests: row.requests, prompt: row.prompt_tokens, completion: row.completion_tokens },
      ] as const,
  );
  expect(new Map(shown)).toEqual(counted);
  expect(await usageOf(people[1]?.key ?? "")).toEqual(before.filter(({ key }) => key === "p1"));
  const metrics = await (await ask(boss, "/metrics")).text();
  for (const row of before) {
    const of = (name: string, labels = {}) =>
      valueOf(metrics, name, { model: "svc-tiny", key: row.key, ...labels });
    const tokens = ["prompt", "cached", "completion", "reasoning"].map((kind) =>
      of("svc_usage_tokens_total", { kind }),
    );
    expect(of("svc_usage_requests_total")).toBe(row.requests);
    expect(tokens).toEqual([
      row.prompt_tokens - row.cached_tokens,
      row.cached_tokens,
      row.completion_tokens - row.reasoning_tokens,
      row.reasoning_tokens,
    ]);
  }
  const [first] = people;
  await ask(first?.key ?? "", "/v1/completions", { prompt: "Say 1.", max_tokens: 3 }).then((answer) =>
    answer.text(),
  );
  const last = await usageOf(boss);
  process.kill(server.pid, "SIGKILL");
  await until("the file is free", async () => {
    try {
      server = await start();
      return true;
    } catch {
      return false; // the engine of the killed server may not have ended
    }
  });
  expect(await usageOf(boss)).toEqual(last);
  const table = await runBinary([
    "usage",
    "--port",
    new URL(server.url).port,
    "--api-keys",
    boss,
    "--key",
    "p0",
  ]);
  expect(table.out).toContain("svc-tiny");
  expect(table.out).not.toContain("p1");
}, 600_000);

test("a revoked key is refused within a second, under load; a rotated one keeps its files", async () => {
  const key = await newKey("leaver");
  await until("the key works", async () => (await ask(key, "/v1/models")).ok);
  const refusals: { readonly status: number; readonly atMs: number }[] = [];
  const over = new AbortController();
  const load = Promise.all(
    Array.from({ length: 16 }, async () => {
      while (!over.signal.aborted) {
        const { status } = await ask(key, "/v1/completions", { prompt: "a", max_tokens: 2 });
        if (status !== 200) refusals.push({ status, atMs: performance.now() });
      }
    }),
  );
  const form = new FormData();
  form.set("purpose", "user_data");
  form.set("file", new File(["mine"], "mine.txt"));
  const { id } = await (
    await fetch(`${server.url}/v1/files`, {
      method: "POST",
      headers: { authorization: `Bearer ${key}` },
      body: form,
    })
  ).json();
  const rotated = JSON.parse(await keys("rotate", "leaver", "--json")).key;
  const rotatedMs = performance.now();
  await until("the old key is refused", () => refusals.length > 16);
  over.abort();
  await load;
  expect(new Set(refusals.map(({ status }) => status))).toEqual(new Set([401]));
  expect((refusals[0]?.atMs ?? Infinity) - rotatedMs).toBeLessThan(1000);
  expect((await ask(rotated, `/v1/files/${id}`)).status).toBe(200);
  await keys("revoke", "leaver");
  await until("the new key is refused", async () => (await ask(rotated, "/v1/models")).status === 401);
}, 60_000);

test("a budget of tokens is never overdrawn by 64 clients, and used up", async () => {
  const key = await newKey("thrifty", "--budget-tokens-per-day", "300", "--streams", "8");
  await until("the key works", async () => (await ask(key, "/v1/models")).ok);
  const results = await Promise.all(
    Array.from({ length: 64 }, async () => {
      for (;;) {
        const body = { prompt: "Count.", max_tokens: 10, ignore_eos: true };
        const answer = await ask(key, "/v1/completions", body);
        const { usage, error } = await answer.json();
        if (answer.ok) return usage.total_tokens as number;
        expect(answer.status).toBe(429);
        if (error.message.includes("tokens a day")) return 0;
      }
    }),
  );
  const cost = Math.max(...results);
  const sum = results.reduce((total, one) => total + one, 0);
  expect(sum).toBeLessThanOrEqual(300);
  expect(sum).toBeGreaterThan(300 - cost - 8 * cost); // places of answers that ended early are free again
  const { usage_today } = await (await ask(key, "/v1/me")).json();
  expect(usage_today.prompt_tokens + usage_today.completion_tokens).toBe(sum);
}, 60_000);
