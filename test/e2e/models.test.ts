// Models from files, several at once, by their names.

import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { copyFileSync, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { defined } from "../../src/core/defined.ts";
import { launchServer, newFolder, startServer, type Server, TINY_FILE } from "../helpers/binary.ts";
import { ask, CAPITAL, complete, postChat } from "../helpers/chat-client.ts";
import { isAlive } from "../helpers/processes.ts";
import { untilInFlight } from "../helpers/prometheus.ts";
import { until } from "../helpers/until.ts";

interface Card {
  readonly id: string;
  readonly kind: string;
  readonly status: string;
}

async function cards(server: Server): Promise<readonly Card[]> {
  const list: unknown = await (await fetch(`${server.url}/v1/models`)).json();
  return (list as { data: Card[] }).data; // the wire's shape is tested elsewhere
}

describe("a configuration with three models", () => {
  let server: Server;
  beforeAll(async () => {
    const cwd = newFolder();
    mkdirSync(join(cwd, "models/folder"), { recursive: true });
    copyFileSync(TINY_FILE, join(cwd, "models/first.gguf"));
    copyFileSync(TINY_FILE, join(cwd, "models/folder/second.gguf"));
    const lines = [
      'default_model_id = "small"',
      "[runtime]",
      "max_seqs = 4",
      "[[models]]",
      'model_id = "models/first.gguf"',
      "[[models]]",
      'model_id = "models/folder"',
      'alias = "small"',
      "[models.device]",
      "max_seq_len = 256",
      "[[models]]",
      'model_id = "svc-tiny"',
      'alias = "toy"',
    ];
    writeFileSync(join(cwd, "svc.toml"), lines.join("\n"));
    server = await launchServer(["svc.toml"], { cwd });
    await server.says("Ready.");
  });
  afterAll(async () => void (await server.stop()));

  test("each has a card and an engine process of its own; the default one comes first", async () => {
    expect((await cards(server)).map(({ id, status }) => [id, status])).toEqual([
      ["small", "loaded"],
      ["first", "loaded"],
      ["toy", "loaded"],
      ["svc-voice", "unloaded"],
    ]);
    expect(server.enginePids()).toHaveLength(3);
  });

  test.each([
    ["first", "first"],
    ["small", "small"],
    ["toy", "toy"],
    ["default", "small"],
    [undefined, "small"],
  ])("a request that names %p is answered by %s", async (name, model) => {
    const answer = await complete(server.url, ask(CAPITAL, defined({ model: name })));
    expect(answer.model).toBe(model);
    expect(answer.choices[0]?.message.content).toBe(CAPITAL.answer);
  });

  test("an unknown name is a 404 that tells the known ones", async () => {
    const response = await postChat(server.url, ask(CAPITAL, { model: "absent" }));
    expect(response.status).toBe(404);
    const body: unknown = await response.json();
    expect(body).toMatchObject({
      error: { code: "model_not_found", type: "not_found_error", param: "model" },
    });
    for (const id of ["absent", "first", "small", "toy"]) expect(JSON.stringify(body)).toContain(id);
  });

  test("a model's own settings hold for it alone", async () => {
    const long = { content: `Count to 1000 ${"and more ".repeat(200)}` };
    const refused = await postChat(server.url, ask(long, { model: "small" }));
    expect(refused.status).toBe(400);
    expect(await refused.json()).toMatchObject({ error: { code: "context_length_exceeded" } });
    const answered = await postChat(server.url, ask(long, { model: "first", max_tokens: 1 }));
    expect(answered.status).toBe(200);
  });

  test("the death of one engine is nobody else's business", async () => {
    const engines = server.enginePids();
    for (const pid of engines) process.kill(pid, "SIGSTOP"); // none answers before one has died
    const names = ["first", "small", "toy"];
    const asked = names.map((model) => postChat(server.url, ask(CAPITAL, { model })));
    for (const model of names) await untilInFlight(server.url, 1, undefined, model);
    const [victim, ...others] = engines;
    if (victim === undefined) throw new Error("there is no engine");
    process.kill(victim, "SIGKILL");
    for (const pid of others) process.kill(pid, "SIGCONT");
    const answers = await Promise.all(asked);
    expect(answers.map(({ status }) => status).toSorted((a, b) => a - b)).toEqual([200, 200, 500]);
    for (const answer of answers)
      expect(await answer.text()).toContain(answer.status === 200 ? CAPITAL.answer : "engine_failed");
    await until("all three are loaded", async () =>
      (await cards(server)).every(({ kind, status }) => kind === "speech" || status === "loaded"),
    );
    expect(engines.filter(isAlive)).toHaveLength(2);
    expect(server.enginePids()).toHaveLength(3);
  });
});

test("-m takes a file and names it", async () => {
  const cwd = newFolder();
  copyFileSync(TINY_FILE, join(cwd, "My Model.gguf"));
  const server = await startServer(["-m", "My Model.gguf"], { cwd });
  expect((await cards(server)).map(({ id }) => id)).toEqual(["My Model", "svc-voice"]);
  const answer = await complete(server.url, ask(CAPITAL, { model: "My Model" }));
  expect(answer.choices[0]?.message.content).toBe(CAPITAL.answer);
  expect(server.stderr()).not.toContain("toy"); // the banner's warning is for the built-in model
});
