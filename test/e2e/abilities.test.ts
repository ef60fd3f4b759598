// Models with different abilities: one that only embeds, one that only generates, one that fills gaps in texts. What they
// cannot do is refused.

import { afterAll, beforeAll, expect, test } from "bun:test";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { launchServer, newFolder, type Server } from "../helpers/binary.ts";
import { tinyBert, tinyFillsGaps, tinyPooled } from "../helpers/tiny-models.ts";

let server: Server;
beforeAll(async () => {
  const cwd = newFolder();
  const tables = [
    [tinyBert("mean"), "only-embeds"],
    [tinyPooled("rank"), "only-generates"],
    [tinyFillsGaps(), "fills-gaps"],
  ].map(([path, alias]) => `[[models]]\nmodel_id = "${path}"\nalias = "${alias}"\n`);
  writeFileSync(join(cwd, "svc.toml"), tables.join(""));
  server = await launchServer(["svc.toml"], { cwd });
});
afterAll(async () => void (await server.stop()));

function post(path: string, body: unknown): Promise<Response> {
  return fetch(`${server.url}/v1/${path}`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify(body),
  });
}

const messages = [{ role: "user", content: "Hello" }];

test.each([
  ["chat/completions", "only-embeds", { messages }],
  ["chat/completions", "only-embeds", { messages, stream: true }],
  ["completions", "only-embeds", { prompt: "Once" }],
  ["completions", "only-embeds", { prompt: ["Once", "Twice"], stream: true }],
  ["embeddings", "only-generates", { input: "a cat" }],
])("%s of %s is refused, %p", async (path, model, body) => {
  const response = await post(path, { ...body, model });
  expect(response.status).toBe(400);
  expect(await response.json()).toMatchObject({
    error: {
      code: "unsupported_capability",
      type: "invalid_request_error",
      param: "model",
      message: expect.stringContaining(`"${model}"`),
    },
  });
});

test("a gap is filled: the answer depends on what comes after it", async () => {
  const fill = async (suffix: string): Promise<string> => {
    const asked = { prompt: "def add(a, b):\n    return ", suffix, max_tokens: 12, temperature: 0 };
    const response = await post("completions", { model: "fills-gaps", ...asked });
    expect(response.status).toBe(200);
    const { choices } = (await response.json()) as { choices: { text: string }[] }; // the wire is tested elsewhere
    return choices[0]?.text ?? "";
  };
  const filled = await fill("\n\nprint(add(1, 2))");
  expect(filled).not.toBe("");
  expect(await fill("something else altogether")).not.toBe(filled);
  const refused = await post("completions", { model: "only-generates", prompt: "a", suffix: "b" });
  expect(refused.status).toBe(400);
  expect(await refused.json()).toMatchObject({ error: { code: "unsupported_capability", param: "suffix" } });
});

test("what they can do, they do", async () => {
  const embedded = await post("embeddings", { model: "only-embeds", input: ["a cat", "a dog"] });
  expect(embedded.status).toBe(200);
  const { data } = (await embedded.json()) as { data: { embedding: number[] }[] }; // the wire is tested elsewhere
  expect(data.map(({ embedding }) => embedding.length)).toEqual([32, 32]);
  const answered = await post("chat/completions", { model: "only-generates", messages, max_tokens: 3 });
  expect(answered.status).toBe(200);
  expect(server.enginePids()).toHaveLength(3);
});
