// LoRA adapters through the executable: used by name, replaced under load, and back after a crash of the engine.

import { describe, expect, test } from "bun:test";
import { cpSync, mkdtempSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import OpenAI from "openai";
import { fileServer, runBinary, type Server, startServer, TINY_FILE } from "../helpers/binary.ts";
import { ask, CAPITAL, complete, completeText } from "../helpers/chat-client.ts";
import { CONFIG, formula, safetensors, writeAdapter } from "../helpers/peft.ts";
import { postJson } from "../helpers/post.ts";
import { until } from "../helpers/until.ts";

const FIXTURES = join(import.meta.dir, "../fixtures/lora");
const ROOT = mkdtempSync(join(tmpdir(), "svc-adapters-"));
cpSync(join(FIXTURES, "red"), join(ROOT, "red"), { recursive: true });
cpSync(join(FIXTURES, "blue"), join(ROOT, "blue"), { recursive: true });
writeAdapter(
  join(ROOT, "misfit"),
  safetensors({
    "model.layers.0.self_attn.q_proj.lora_A.weight": formula([2, 64], 0),
    "model.layers.0.self_attn.q_proj.lora_B.weight": formula([64, 2], 1),
  }),
  CONFIG,
);

const ENV = { SVC_ALLOW_RUNTIME_LORA_UPDATING: "yes", SVC_LORA_ADAPTER_ROOT: ROOT };
const RED = `Red says: ${CAPITAL.answer}`;
const BLUE = `Blue says: ${CAPITAL.answer}`;

/** The fields of the answers that these tests look at. */
interface Answer {
  readonly error?: { readonly code: string; readonly message: string };
  readonly generation?: string;
  readonly output?: readonly { readonly content: readonly { readonly text: string }[] }[];
  readonly content?: readonly { readonly text: string }[];
}

interface Posted {
  readonly status: number;
  readonly json: Answer;
}

async function post(server: Server, path: string, body: object): Promise<Posted> {
  const response = await postJson(`${server.url}${path}`, body);
  return { status: response.status, json: (await response.json()) as Answer };
}

const load = (server: Server, name: string, path = name, extra: object = {}) =>
  post(server, "/v1/load_lora_adapter", { lora_name: name, lora_path: join(ROOT, path), ...extra });

describe("a server whose adapters clients manage", () => {
  const server = fileServer(["--enable-lora"], { env: ENV });

  test("an adapter answers under every name that it has, in every dialect", async () => {
    const { status, json } = await load(server(), "red");
    expect(status).toBe(200);
    const { generation = "" } = json;
    const client = new OpenAI({ apiKey: "none", baseURL: `${server().url}/v1` });
    const cards = (await client.models.list()).data.map(({ id }) => id);
    expect(cards).toEqual(["svc-tiny", "svc-tiny:red", "svc-voice"]);
    for (const extra of [
      { adapter: "red" },
      { adapter: { generation } },
      { model: "red" },
      { model: cards[1] },
    ]) {
      const answer = await complete(server().url, ask(CAPITAL, extra));
      expect(answer.choices[0]?.message.content).toBe(RED);
      expect(answer).toMatchObject({ adapter_generation: generation });
    }
    const base = await complete(server().url, ask(CAPITAL));
    expect(base.choices[0]?.message.content).toBe(CAPITAL.answer);
    expect(base).not.toHaveProperty("adapter_generation");
    const response = await post(server(), "/v1/responses", {
      input: CAPITAL.content,
      temperature: 0,
      reasoning: { effort: "off" },
      adapter: "red",
    });
    expect(response.json).toMatchObject({ adapter_generation: generation, status: "completed" });
    expect(response.json.output?.at(-1)?.content[0]?.text).toBe(RED);
    const message = await post(server(), "/v1/messages", {
      model: "red",
      max_tokens: 50,
      temperature: 0,
      thinking: { type: "disabled" },
      messages: [{ role: "user", content: CAPITAL.content }],
    });
    expect(message.json.content?.[0]?.text).toBe(RED);
    const chunks = await client.chat.completions.create({
      ...ask(CAPITAL, { model: "red" }),
      stream: true,
    } as never);
    for await (const chunk of chunks as unknown as AsyncIterable<object>)
      expect(chunk).toMatchObject({ adapter_generation: generation });
  }, 60_000);

  test("what is wrong with an adapter is said, whatever it is", async () => {
    const refused = async (path: string) =>
      (await load(server(), "x", path)).json.error ?? { code: "none", message: "" };
    expect(await refused("misfit")).toMatchObject({ code: "invalid_adapter" });
    expect((await refused("misfit")).message).toContain("another base model");
    expect(await refused("../")).toMatchObject({ code: "adapter_path_not_allowed" });
    expect(await refused("none")).toMatchObject({ code: "adapter_not_found" });
    expect(await completeText(server().url, ask(CAPITAL))).toBe(CAPITAL.answer);
  }, 30_000);

  test("replaced under load: every answer's generation is the one whose words it has", async () => {
    await load(server(), "swap", "red");
    const generations = new Map<string, string>();
    const done = new AbortController();
    const answers: [generation: string, text: string][] = [];
    const client = async () => {
      while (!done.signal.aborted) {
        const answer = await complete(server().url, ask(CAPITAL, { adapter: "swap", max_tokens: 24 }));
        const { adapter_generation: generation = "" } = answer as { adapter_generation?: string };
        answers.push([generation, answer.choices[0]?.message.content ?? ""]);
      }
    };
    const clients = Array.from({ length: 8 }, client);
    for (const path of ["blue", "red", "blue", "red"]) {
      const { length: before } = answers;
      const { status, json } = await load(server(), "swap", path, { load_inplace: true });
      expect(status).toBe(200);
      generations.set(json.generation ?? "", path === "red" ? RED : BLUE);
      await until("an answer through it", () =>
        answers.slice(before).some(([generation]) => generation === json.generation),
      );
    }
    done.abort();
    await Promise.all(clients);
    expect(answers.length).toBeGreaterThan(8);
    for (const [generation, text] of answers) expect(text).toBe(generations.get(generation) ?? "unknown");
    expect(new Set(answers.map(([generation]) => generation)).size).toBe(2);
    const list = await (await fetch(`${server().url}/v1/lora_adapters`)).json();
    expect(list).toMatchObject({ retired_generations: 0 });
  }, 60_000);

  test("an engine that dies comes back with its adapters", async () => {
    await load(server(), "kept", "blue");
    const engine = server().enginePid();
    process.kill(engine, "SIGKILL");
    await until("the engine is another", () =>
      server()
        .enginePids()
        .some((pid) => pid !== engine),
    );
    expect(await completeText(server().url, ask(CAPITAL, { adapter: "kept" }))).toBe(BLUE);
  }, 30_000);
});

test("adapters of the settings are there from the start; clients change nothing", async () => {
  const server = await startServer(["--lora", `red=${join(FIXTURES, "red")},blue=${join(FIXTURES, "blue")}`]);
  await server.says("Ready.");
  expect(await completeText(server.url, ask(CAPITAL, { model: "blue" }))).toBe(BLUE);
  expect((await load(server, "x", "red")).status).toBe(404);
  const list = await (await fetch(`${server.url}/v1/lora_adapters`)).json();
  expect(list).toMatchObject({ data: [{ id: "red" }, { id: "blue" }] });
  expect(JSON.stringify(list)).not.toContain("fixtures");
}, 30_000);

test("an adapter that all answers go through: named by a file of names, also after the engine has been loaded anew", async () => {
  const order = join(ROOT, "order.json");
  writeFileSync(order, JSON.stringify({ order: ["red"], base_model_id: "any" }));
  const server = await startServer([
    "-m",
    TINY_FILE,
    "--legacy-lora",
    FIXTURES,
    "--legacy-lora-order",
    order,
  ]);
  expect(await completeText(server.url, ask(CAPITAL))).toBe(RED);
  expect((await post(server, "/v1/models/reload", { model_id: "tiny" })).status).toBe(200);
  expect(await completeText(server.url, ask(CAPITAL))).toBe(RED);
  const { status, json } = await post(server, "/v1/chat/completions", ask(CAPITAL, { adapter: "red" }));
  expect([status, json.error?.code]).toEqual([409, "lora_runtime_unavailable"]);
}, 30_000);

test.each([
  [["-m", TINY_FILE, "--legacy-lora", join(ROOT, "misfit")], "legacy_lora could not be applied"],
  [["-m", TINY_FILE, "--legacy-lora", FIXTURES, "--legacy-lora-order", TINY_FILE], "cannot be read as JSON"],
  [["-m", TINY_FILE, "--legacy-lora", FIXTURES, "--lora", "red=x"], "excludes models[0].adapter.lora"],
  [["-m", TINY_FILE, "--legacy-lora-order", TINY_FILE], "needs legacy_lora"],
  [["--legacy-lora", FIXTURES], "built-in model has none"],
])("%j is refused with a reason", async (words, reason) => {
  const { exit, err } = await runBinary(["run", ...words, "-i", CAPITAL.content]);
  expect(err).toContain(reason);
  expect(exit).not.toBe(0);
});

test("a server without adapters says so", async () => {
  const server = await startServer();
  const { status, json } = await post(server, "/v1/chat/completions", ask(CAPITAL, { adapter: "red" }));
  expect([status, json.error?.code]).toEqual([409, "lora_runtime_unavailable"]);
  expect((await fetch(`${server.url}/v1/lora_adapters`)).status).toBe(409);
});

describe("svc run", () => {
  test("begins with the adapter that is named", async () => {
    const words = [
      "run",
      "-m",
      "svc-tiny",
      "--lora",
      `red=${join(ROOT, "red")}`,
      "--seed",
      "1",
      "-i",
      CAPITAL.content,
    ];
    expect(await runBinary([...words, "--adapter", "red"])).toEqual({ exit: 0, out: `${RED}\n`, err: "" });
    const { exit, err } = await runBinary([...words, "--adapter", "blue"]);
    expect([exit, err]).toEqual([1, "svc: svc-tiny has no adapter blue: it has red\n"]);
  });
});
