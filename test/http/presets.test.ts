// Defaults of models and aliases, in every dialect: a request's own fields win.

import { describe, expect, test } from "bun:test";
import type { Preset, PresetLayers } from "../../src/core/preset.ts";
import type { Generate, RunRequest } from "../../src/core/run.ts";
import type { HttpDeps } from "../../src/http/deps.ts";
import { modelAliases } from "../../src/http/model-alias.ts";
import { chatBody, testApp } from "../helpers/app.ts";
import { modelInfo } from "../helpers/model-info.ts";
import { answer } from "../helpers/run-events.ts";

const MODEL: Preset = { temperature: 0.1, top_k: 5, max_tokens: 40 };
/** What stands below the settings counts for the fields that they leave out. */
const LAYERS: PresetLayers = {
  settings: MODEL,
  file: { temperature: 0.2, repetition_penalty: 1.05 },
  repository: { repetition_penalty: 1.2, min_p: 0.02 },
  svc: { temperature: 0.8, top_k: 40, top_p: 0.95, min_p: 0.05 },
};
const ASSISTANT: Preset = {
  temperature: 0.3,
  top_p: 0.5,
  min_p: 0.05,
  presence_penalty: 0.5,
  frequency_penalty: 0.25,
  repetition_penalty: 1.5,
  stop: ["END"],
  system: "You are a pirate.",
  thinking: false,
};
const DEPS: Partial<HttpDeps> = {
  models: () => [
    modelInfo("tiny", { presets: () => LAYERS }),
    modelInfo("tiny:red", { parent: "tiny", root: "red", presets: () => LAYERS }),
  ],
  aliases: modelAliases([
    { name: "pirate", model: "default", adapter: "red", defaults: ASSISTANT },
    { name: "plain", model: "tiny" },
    { name: "gone", model: "tiny", adapter: "blue" },
  ]),
};

/** What the engine gets of a request. */
async function runOf(path: string, body: object): Promise<RunRequest> {
  const runs: RunRequest[] = [];
  const generate: Generate = async function* (request) {
    runs.push(request);
    yield* answer("Hi");
  };
  const response = await testApp(generate, DEPS).post(path, body);
  expect([response.status, await response.text()]).toEqual([200, expect.any(String)]);
  const [run] = runs;
  if (run === undefined) throw new Error("nothing has run");
  return run;
}

const MESSAGES = [{ role: "user", content: "Hi" }];
/** Requests of each dialect, and its own fields that win. */
const DIALECTS: readonly (readonly [path: string, body: object, own: object])[] = [
  [
    "/v1/chat/completions",
    { messages: MESSAGES },
    { temperature: 1.5, max_completion_tokens: 7, stop: "MY", reasoning_effort: "high" },
  ],
  [
    "/v1/chat/completions",
    { messages: "Hi" },
    { temperature: 1.5, max_tokens: 7, stop: ["MY"], enable_thinking: true },
  ],
  [
    "/v1/messages",
    { messages: MESSAGES },
    { temperature: 1.5, max_tokens: 7, stop_sequences: ["MY"], thinking: { type: "enabled" } },
  ],
  [
    "/v1/responses",
    { input: "Hi" },
    { temperature: 1.5, max_output_tokens: 7, stop: "MY", reasoning: { effort: "high" } },
  ],
  [
    "/api/chat",
    { messages: MESSAGES },
    { options: { temperature: 1.5, num_predict: 7, stop: ["MY"] }, think: true },
  ],
  [
    "/api/generate",
    { prompt: "Hi" },
    { options: { temperature: 1.5, num_predict: 7, stop: ["MY"] }, think: true },
  ],
];

describe.each(DIALECTS)("%s %p", (path, body, own) => {
  test("an assistant's defaults come before its model's", async () => {
    const run = await runOf(path, { ...body, model: "pirate" });
    expect(run).toMatchObject({
      model: "tiny:red",
      maxTokens: 40,
      stop: ["END"],
      sampling: {
        temperature: 0.3,
        topP: 0.5,
        topK: 5,
        minP: 0.05,
        presencePenalty: 0.5,
        frequencyPenalty: 0.25,
        repetitionPenalty: 1.5,
      },
      prompt: { thinking: { enabled: false } },
    });
    if (run.prompt.type !== "chat") throw new Error("no chat");
    expect(run.prompt.messages.map(({ role }) => role)).toEqual(["system", "user"]);
    expect(JSON.stringify(run.prompt.messages[0])).toContain("pirate");
  });

  test("a request's own fields win", async () => {
    const run = await runOf(path, { ...body, ...own, model: "pirate" });
    expect(run).toMatchObject({ maxTokens: 7, stop: ["MY"], sampling: { temperature: 1.5, topP: 0.5 } });
    expect(run.prompt).toMatchObject({ thinking: { enabled: true } });
  });

  test("a model's defaults apply under its own name, another name and none", async () => {
    for (const model of ["tiny", "plain", "default", undefined]) {
      const run = await runOf(path, { ...body, ...(model === undefined ? {} : { model }) });
      expect(run).toMatchObject({
        maxTokens: 40,
        sampling: { temperature: 0.1, topK: 5, repetitionPenalty: 1.05, minP: 0.02, topP: 0.95 },
      });
    }
  });
});

test("a conversation with instructions of its own keeps them", async () => {
  const system = [{ role: "system", content: "You are a baker." }, ...MESSAGES];
  const bodies = [
    ["/v1/chat/completions", { messages: system }],
    ["/v1/messages", { messages: MESSAGES, system: "You are a baker." }],
    ["/v1/responses", { input: "Hi", instructions: "You are a baker." }],
    ["/api/chat", { messages: system }],
    ["/api/generate", { prompt: "Hi", system: "You are a baker." }],
  ] as const;
  for (const [path, body] of bodies) {
    const { prompt } = await runOf(path, { ...body, model: "pirate" });
    expect(JSON.stringify(prompt)).toContain("baker");
    expect(JSON.stringify(prompt)).not.toContain("pirate");
  }
});

test("completions take what they know; infill has sampling of its own", async () => {
  const run = await runOf("/v1/completions", { model: "pirate", prompt: "Hi" });
  expect(run).toMatchObject({
    model: "tiny:red",
    maxTokens: 40,
    stop: ["END"],
    sampling: { temperature: 0.3, topK: 5 },
  });
  expect(run.prompt).toEqual({ type: "text", text: "Hi" });
  const infill = await runOf("/infill", { model: "pirate", input_prefix: "a", input_suffix: "b" });
  expect(infill.sampling).toMatchObject({ temperature: 0.8, topK: 40 });
});

test("an Ollama request without messages still loads the model only", async () => {
  const { post } = testApp(undefined, DEPS);
  const body: unknown = await (await post("/api/chat", { model: "pirate", stream: false })).json();
  expect(body).toMatchObject({ done_reason: "load" });
});

test("a field that is wrong in the request is its own error", async () => {
  const { post } = testApp(undefined, DEPS);
  const options = await post("/api/chat", { model: "pirate", messages: MESSAGES, options: [] });
  expect([options.status, await options.text()]).toEqual([400, expect.stringContaining("options")]);
  const messages = await post("/v1/chat/completions", chatBody({ model: "pirate", messages: 5 }));
  expect([messages.status, await messages.text()]).toEqual([400, expect.stringContaining("messages")]);
});

test("an adapter that is not loaded is named", async () => {
  const generate: Generate = async function* ({ model }) {
    expect(model).toBe("tiny:blue");
    yield* answer("Hi");
  };
  expect(
    (await testApp(generate, DEPS).post("/v1/chat/completions", chatBody({ model: "gone" }))).status,
  ).toBe(200);
});

test("cards: assistants stand among the models, with their defaults but not their instructions", async () => {
  const { request } = testApp(undefined, DEPS);
  const list = (await (await request("/v1/models")).json()) as { data: { id: string }[] };
  expect(list.data.map(({ id }) => id)).toEqual(["tiny", "tiny:red", "pirate", "gone"]);
  const pirate: unknown = await (await request("/v1/models/pirate")).json();
  const { system: _, ...others } = ASSISTANT;
  expect(pirate).toMatchObject({
    id: "pirate",
    parent: "tiny",
    root: "red",
    defaults: { ...MODEL, ...others, system: true },
  });
  expect(JSON.stringify(pirate)).not.toContain("pirate.");
  expect(list.data[0]).toMatchObject({
    defaults: { ...MODEL, repetition_penalty: 1.05, min_p: 0.02, top_p: 0.95 },
    defaults_from: {
      temperature: "settings",
      top_k: "settings",
      max_tokens: "settings",
      repetition_penalty: "file",
      min_p: "repository",
      top_p: "svc",
    },
  });
  expect(pirate).toMatchObject({ defaults_from: { temperature: "alias", max_tokens: "settings" } });
});
