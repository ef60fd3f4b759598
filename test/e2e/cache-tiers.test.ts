// The KV cache on disk, through the executable: what a killed server has computed, the next one reads.

import { describe, expect, test } from "bun:test";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { architectureModel } from "../helpers/architecture-models.ts";
import { newFolder, runBinary, type Server, startServer } from "../helpers/binary.ts";
import { postJson } from "../helpers/post.ts";
import { valueOf } from "../helpers/prometheus.ts";
import { until } from "../helpers/until.ts";

const LESSON = Array.from({ length: 40 }, (_, i) => `Animal ${i} lives in house ${(i * 7) % 40}.`).join(" ");
const QUESTION = [{ role: "user", content: `${LESSON} Where does animal 3 live?` }];
const NEXT = [
  ...QUESTION,
  { role: "assistant", content: "In house 21." },
  { role: "user", content: "And 4?" },
];

interface Answered {
  readonly text: string;
  readonly prompt: number;
  readonly cached: number;
}

/** A model of tokens without a chat template that says anything. */
async function complete(server: Server, prompt: readonly number[]): Promise<Answered> {
  const response = await postJson(`${server.url}/v1/completions`, { prompt, temperature: 0, max_tokens: 8 });
  expect(response.status).toBe(200);
  const { choices, usage } = (await response.json()) as {
    choices: { text: string }[];
    usage: { prompt_tokens: number; prompt_tokens_details: { cached_tokens: number } };
  };
  const text = JSON.stringify(choices[0]?.text);
  return { text, prompt: usage.prompt_tokens, cached: usage.prompt_tokens_details.cached_tokens };
}

async function ask(server: Server, messages: readonly object[], key?: string): Promise<Answered> {
  const response = await fetch(`${server.url}/v1/chat/completions`, {
    method: "POST",
    headers: {
      "content-type": "application/json",
      ...(key === undefined ? {} : { authorization: `Bearer ${key}` }),
    },
    body: JSON.stringify({ model: "default", messages, temperature: 0, max_tokens: 16 }),
  });
  expect(response.status).toBe(200);
  const answer = (await response.json()) as {
    choices: { message: { content: string | null; reasoning_content?: string } }[];
    usage: { prompt_tokens: number; prompt_tokens_details: { cached_tokens: number } };
  };
  const { usage } = answer;
  return {
    text: JSON.stringify(answer.choices[0]?.message),
    prompt: usage.prompt_tokens,
    cached: usage.prompt_tokens_details.cached_tokens,
  };
}

const metric = async (server: Server, name: string): Promise<number> =>
  valueOf(await (await fetch(`${server.url}/metrics`)).text(), name) ?? NaN;

function blocksIn(folder: string): string[] {
  return [...new Bun.Glob("??/*").scanSync(folder)].filter((path) => path.length === 67);
}

/** A server with a folder that ends without warning once it has written the blocks of a prompt. */
async function killedServer(folder: string): Promise<Answered> {
  const server = await startServer(["--cache-disk", folder]);
  const answered = await ask(server, QUESTION);
  await until(
    "the blocks and the list of the prefixes used last are on disk",
    () => blocksIn(folder).length > Math.floor((answered.prompt - 1) / 32),
  );
  process.kill(server.enginePid(), "SIGKILL");
  server.kill("SIGKILL");
  await server.exited;
  return answered;
}

describe("a server that was killed", () => {
  test("has left its prompts to the next one, which answers the same", async () => {
    const folder = join(newFolder(), "kv");
    const before = await killedServer(folder);
    const [server, other] = await Promise.all([
      startServer(["--cache-disk", folder]),
      startServer(["--cache-ram", "0"]),
    ]);
    await until(
      "the prompt is restored before anybody asks",
      async () => (await metric(server, "svc_cache_restored_tokens_total")) >= before.prompt - 32,
    );
    const again = await ask(server, QUESTION);
    expect(again.text).toBe(before.text);
    expect(again.cached).toBeGreaterThanOrEqual(again.prompt - 33);
    expect(await metric(server, "svc_cache_disk_read_tokens_total")).toBeGreaterThanOrEqual(
      before.prompt - 32,
    );
    const next = await ask(server, NEXT);
    expect(next.text).toBe((await ask(other, NEXT)).text);
    expect(next.cached).toBeGreaterThanOrEqual(before.prompt - 33);
    await Promise.all([server.stop(), other.stop()]);
  });

  test("and damaged files cost time, not answers", async () => {
    const folder = join(newFolder(), "kv");
    const before = await killedServer(folder);
    for (const [i, name] of blocksIn(folder).entries()) {
      const path = join(folder, name);
      const bytes = readFileSync(path);
      writeFileSync(path, i % 2 === 0 ? bytes.subarray(0, bytes.length >> 1) : bytes.fill(1, 100, 200));
    }
    const server = await startServer(["--cache-disk", folder]);
    const again = await ask(server, QUESTION);
    expect(again.text).toBe(before.text);
    expect(again.cached).toBe(0);
    await until(
      "the metrics count bad blocks",
      async () => (await metric(server, "svc_cache_bad_blocks_total")) > 0,
    );
    await server.stop();
  });
});

// One process for each kind of memory, and its files: blocks of 320 tokens, the state after them, the list of the prefixes used last.
test.each([
  ["qwen35", 10 + 2],
  ["mamba2", 2],
])("a killed server with states has left its prompts to the next one: %s", async (name, files) => {
  const folder = join(newFolder(), "kv");
  const flags = ["--model", architectureModel(name), "--cache-disk", folder];
  const prompt = Array.from({ length: 330 }, (_, i) => 3 + ((i * 37) % 1900));
  const next = [...prompt, 7, 8, 9];
  const first = await startServer(flags);
  const before = await complete(first, prompt);
  await until("all files are on disk", () => blocksIn(folder).length >= files);
  process.kill(first.enginePid(), "SIGKILL");
  first.kill("SIGKILL");
  await first.exited;

  const [server, other] = await Promise.all([
    startServer(flags),
    startServer([...flags.slice(0, 2), "--cache-ram", "0"]),
  ]);
  expect(await complete(server, prompt)).toEqual({ ...before, cached: 320 });
  const answered = await complete(server, next);
  expect(answered.cached).toBe(320);
  expect(answered.text).toBe((await complete(other, next)).text);
  await Promise.all([server.stop(), other.stop()]);
});

test.each([
  ["key", 0],
  ["all", 100],
])("keys share prompts only if they are told to: %s", async (scope, least) => {
  const cwd = newFolder();
  const settings = `[server]\napi_keys = ["one", "two"]\n[[models]]\nmodel_id = "svc-tiny"\n[runtime]\ncache_scope = "${scope}"\n`;
  writeFileSync(join(cwd, "keys.toml"), settings);
  const server = await startServer(["keys.toml"], { cwd });
  await ask(server, QUESTION, "one");
  const other = await ask(server, QUESTION, "two");
  if (least === 0) expect(other.cached).toBe(0);
  else expect(other.cached).toBeGreaterThan(least);
  expect((await ask(server, QUESTION, "two")).cached).toBeGreaterThan(100);
  await server.stop();
});

test("svc cache purge deletes what a folder holds, and needs one", async () => {
  const folder = join(newFolder(), "kv");
  await killedServer(folder);
  const count = blocksIn(folder).length;
  const purged = await runBinary(["cache", "purge", "--cache-disk", folder]);
  expect(purged).toMatchObject({ exit: 0, err: "" });
  expect(purged.out).toStartWith(`${count} blocks deleted`);
  expect(blocksIn(folder)).toEqual([]);
  const nowhere = await runBinary(["cache", "purge"]);
  expect(nowhere.exit).toBe(2);
  expect(nowhere.err).toContain("--cache-disk");
});

test("a folder that others can write to ends the start with the reason", async () => {
  const folder = newFolder();
  await Bun.$`chmod 777 ${folder}`.quiet();
  const words = ["serve", "--host", "127.0.0.1", "--port", "0", "--cache-disk", folder];
  const { exit, err } = await runBinary(words);
  expect([exit, err]).toEqual([1, expect.stringContaining("--cache-disk cannot be used: ")]);
});

test("a disk without memory to read into is a mistake in the settings", async () => {
  const { exit, err } = await runBinary(["serve", "--cache-disk", "kv", "--cache-ram", "0"]);
  expect(exit).toBe(2);
  expect(err).toContain("runtime.cache_ram");
});
