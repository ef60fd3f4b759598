// Ollama's client against the executable with the built-in model, on the port where it looks.

import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { Ollama } from "ollama";
import { launchServer, type Server } from "../helpers/binary.ts";
import { until } from "../helpers/until.ts";

let server: Server;
let client: Ollama;
beforeAll(async () => {
  server = await launchServer(["--ollama-port", "0"]);
  await server.says("Ready.");
  const port = /Ollama +http:\/\/127.0.0.1:(\d+)/.exec(server.stderr())?.[1];
  client = new Ollama({ host: `http://127.0.0.1:${port}` });
});
afterAll(async () => void (await server.stop()));

const model = "svc-tiny:latest";
const messages = [{ role: "user", content: "What is the capital of France?" }];
const options = { temperature: 0 };

describe("the built-in model", () => {
  test("answers, whole and streamed alike", async () => {
    const { message, eval_count } = await client.chat({ model, messages, options });
    expect(message.content).toContain("Paris");
    const parts = await Array.fromAsync(await client.chat({ model, messages, options, stream: true }));
    const streamed = parts.map((part) => part.message.content).join("");
    expect(streamed).toBe(message.content);
    expect(parts.at(-1)).toMatchObject({ done: true, done_reason: "stop", eval_count });
  });

  test("says what the model did not get of a conversation: in the body, and in the last line", async () => {
    const turns = Array.from({ length: 10 }, (_, at) => [
      { role: "user", content: `Turn ${at}. ${"blah ".repeat(60)}` },
      { role: "assistant", content: "Noted." },
    ]).flat();
    const body = { model, messages: [...turns, ...messages], options, compact_at: 0.1 };
    const told = { context_management: { applied_edits: [{ type: "compact_20260112" }] } };
    expect(await client.chat(body)).toMatchObject({ done: true, ...told });
    const parts = await Array.fromAsync(await client.chat({ ...body, stream: true }));
    expect(parts.at(-1)).toMatchObject({ done: true, ...told });
  });

  test("keeps to a schema, and to JSON", async () => {
    const schema = { type: "object", properties: { city: { enum: ["Paris"] } }, required: ["city"] };
    const held = await client.generate({ model, prompt: "Where?", format: schema, options });
    expect(JSON.parse(held.response ?? "")).toEqual({ city: "Paris" });
    const json = await client.generate({
      model,
      prompt: "Where?",
      format: "json",
      options: { ...options, num_predict: 200, seed: 1 },
    });
    expect(json.response).toStartWith("{");
  });

  test("is listed, shown and embeds", async () => {
    const [card] = (await client.list()).models;
    expect(card).toMatchObject({ name: "svc-tiny", details: { family: "llama", format: "gguf" } });
    expect(card?.size).toBeGreaterThan(1_000_000);
    const shown = await client.show({ model });
    expect(shown.capabilities).toEqual(expect.arrayContaining(["completion", "tools", "thinking"]));
    const { embeddings } = await client.embed({ model, input: ["a", "b"], dimensions: 8 });
    expect(embeddings.map((vector) => [vector.length, Math.hypot(...vector).toFixed(4)])).toEqual([
      [8, "1.0000"],
      [8, "1.0000"],
    ]);
  });

  test("leaves and comes as keep_alive says; another context length does not load it anew", async () => {
    const [pid] = server.enginePids();
    await client.chat({ model, messages, options: { ...options, num_ctx: 128 } });
    expect(server.enginePids()).toEqual([pid ?? 0]);
    const [running] = (await client.ps()).models;
    expect(new Date(running?.expires_at ?? 0).getUTCFullYear()).toBe(9999);

    const unloaded = await client.generate({ model, prompt: "", keep_alive: 0 });
    expect(unloaded).toMatchObject({ done: true, done_reason: "unload" });
    expect((await client.ps()).models).toEqual([]);

    const { message } = await client.chat({ model, messages, options, keep_alive: 0 });
    expect(message.content).toContain("Paris");
    await until("it has left", async () => (await client.ps()).models.length === 0);

    await client.chat({ model, messages: [], keep_alive: "5m" });
    const [again] = (await client.ps()).models;
    const leftMs = new Date(again?.expires_at ?? 0).getTime() - Date.now();
    expect(leftMs).toBeWithin(240_000, 300_001);
  });
});

test("a taken port is warned of, and the server goes on", async () => {
  const port = /Ollama +http:\/\/127.0.0.1:(\d+)/.exec(server.stderr())?.[1] ?? "";
  const second = await launchServer(["--ollama-port", port]);
  await second.says(`warning: cannot listen on 127.0.0.1:${port}`);
  expect((await fetch(`${second.url}/api/version`)).status).toBe(200);
  await second.stop();
});
