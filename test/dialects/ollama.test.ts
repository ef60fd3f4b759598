import { describe, expect, test } from "bun:test";
import { defined } from "../../src/core/defined.ts";
import type { RunRequest } from "../../src/core/run.ts";
import { embedBody, parseOllamaEmbed, parseOllamaEmbeddings } from "../../src/dialects/ollama/embed.ts";
import { keepAliveOf } from "../../src/dialects/shared/keep-alive.ts";
import { psBody, showBody, tagsBody } from "../../src/dialects/ollama/models.ts";
import { parseOllamaChat, parseOllamaGenerate } from "../../src/dialects/ollama/request.ts";
import { type Body, type Rule, testRules } from "../helpers/rules.ts";

const MESSAGES = [{ role: "user", content: "Hi" }];
const chatBody = (extra: Body = {}): Body => ({ messages: MESSAGES, ...extra });

function chat(extra: Body = {}) {
  const call = parseOllamaChat(chatBody(extra));
  if (call.work.type !== "converse") throw new Error("not a conversation");
  return { ...call, ...call.work.conversation };
}

function generate(extra: Body): Omit<RunRequest, "prompt"> & { readonly prompt: unknown } {
  const { work } = parseOllamaGenerate(extra);
  if (work.type === "load") throw new Error("nothing is generated");
  return work.type === "continue" ? work.run : work.conversation.run;
}

describe("chat request", () => {
  test("messages alone take Ollama's defaults: sampling, a stream, thinking", () => {
    const { model, stream, keepAlive, run } = chat();
    expect({ model, stream, keepAlive }).toEqual({ model: "default", stream: true, keepAlive: undefined });
    expect(run).toMatchObject({
      model: "default",
      sampling: { temperature: 0.8, topK: 40, topP: 0.9, repetitionPenalty: 1 },
      stop: [],
      choices: 1,
      truncate: true,
      prompt: {
        messages: [{ role: "user", content: [{ type: "text", text: "Hi" }] }],
        tools: [],
        toolChoice: { type: "auto" },
        thinking: { enabled: true },
      },
    });
    expect(run.maxTokens).toBeUndefined();
    expect(run.constraint).toBeUndefined();
  });

  test("converts options; those for loading have no effect", () => {
    const options = {
      num_predict: 9,
      temperature: 0,
      top_k: 3,
      top_p: 0.5,
      min_p: 0.1,
      seed: 7,
      stop: ["a", "b"],
      repeat_penalty: 1.1,
      presence_penalty: 0.5,
      frequency_penalty: 0.25,
      num_ctx: 99,
      num_gpu: 1,
      mirostat: 2,
    };
    const { run } = chat({ options });
    expect(run).toMatchObject({
      maxTokens: 9,
      stop: ["a", "b"],
      sampling: {
        temperature: 0,
        topK: 3,
        topP: 0.5,
        minP: 0.1,
        seed: 7,
        repetitionPenalty: 1.1,
        presencePenalty: 0.5,
        frequencyPenalty: 0.25,
      },
    });
    for (const num_predict of [-1, -2, 0])
      expect(chat({ options: { num_predict } }).run.maxTokens).toBeUndefined();
    expect(chat({ options: { seed: -1 } }).run.sampling.seed).toBeUndefined();
  });

  test("converts formats", () => {
    const schema = { type: "object", properties: { a: { type: "string" } } };
    expect(chat({ format: schema }).run.constraint).toEqual({ type: "json_schema", schema, strict: false });
    expect(chat({ format: "json" }).run.constraint).toEqual({
      type: "json_schema",
      schema: { type: "object" },
      strict: false,
    });
    expect(chat({ format: "" }).run.constraint).toBeUndefined();
  });

  test.each([
    [false, { enabled: false }],
    [true, { enabled: true }],
    ["low", { enabled: true, effort: "low" }],
    ["none", { enabled: false }],
  ] as const)("think %p", (think, thinking) => expect(chat({ think }).run.prompt.thinking).toEqual(thinking));

  test("results are matched to calls by id, by name, and by order", () => {
    const called = (name: string, id?: string) => ({
      ...defined({ id }),
      function: { name, arguments: { n: 1 } },
    });
    const { run } = chat({
      messages: [
        ...MESSAGES,
        { role: "assistant", tool_calls: [called("a"), called("b"), called("c"), called("a", "given")] },
        { role: "tool", content: "1", tool_name: "b" },
        { role: "tool", content: "2" },
        { role: "tool", content: "3", tool_call_id: "given" },
        { role: "tool", content: "4" },
        { role: "tool", content: "5", tool_name: "z" },
      ],
    });
    const [, assistant, ...results] = run.prompt.messages;
    expect(assistant?.toolCalls).toEqual([
      { id: "call_1_0", name: "a", arguments: '{"n":1}' },
      { id: "call_1_1", name: "b", arguments: '{"n":1}' },
      { id: "call_1_2", name: "c", arguments: '{"n":1}' },
      { id: "given", name: "a", arguments: '{"n":1}' },
    ]);
    expect(results.map(({ toolCallId, name }) => [toolCallId, name])).toEqual([
      ["call_1_1", "b"],
      ["call_1_0", "a"],
      ["given", "a"],
      ["call_1_2", "c"],
      [undefined, "z"],
    ]);
  });

  test("converts images, thinking and tools", () => {
    const { run } = chat({
      messages: [
        { role: "user", content: "What?", images: ["aGk="] },
        { role: "assistant", content: "", thinking: "Hm" },
      ],
      tools: [{ type: "function", function: { name: "f", parameters: { type: "object", properties: {} } } }],
    });
    const [user, assistant] = run.prompt.messages;
    expect(user?.content).toEqual([
      {
        type: "media",
        modality: "image",
        source: { type: "inline", data: "aGk=" },
        param: "messages[0].images[0]",
      },
      { type: "text", text: "What?" },
    ]);
    expect(assistant).toMatchObject({ content: [], reasoning: "Hm" });
    expect(run.prompt.tools.map(({ name }) => name)).toEqual(["f"]);
  });

  test("a request without messages loads the model", () => {
    expect(parseOllamaChat({ model: "m", keep_alive: 0 })).toEqual({
      model: "m",
      work: { type: "load" },
      stream: true,
      keepAlive: 0,
    });
    expect(parseOllamaChat({ messages: [] }).work.type).toBe("load");
  });
});

describe("generate request", () => {
  test("a prompt becomes a user message after the instructions", () => {
    expect(generate({ prompt: "Hi", system: "Be brief." }).prompt).toMatchObject({
      type: "chat",
      messages: [
        { role: "system", content: [{ type: "text", text: "Be brief." }] },
        { role: "user", content: [{ type: "text", text: "Hi" }] },
      ],
    });
  });

  test("raw prompts and gaps are continued unchanged", () => {
    expect(generate({ prompt: "Hi", raw: true }).prompt).toEqual({ type: "text", text: "Hi" });
    expect(generate({ prompt: "a", suffix: "b" }).prompt).toEqual({ type: "text", text: "a", suffix: "b" });
  });

  test("a request without prompt loads the model", () => {
    expect(parseOllamaGenerate({ model: "m", prompt: "", stream: false })).toMatchObject({
      work: { type: "load" },
      stream: false,
    });
  });
});

describe("refused", () => {
  const RULES: readonly Rule[] = [
    [{ messages: "Hi" }, "invalid_request", "messages", "an array"],
    [{ messages: [{ content: "Hi" }] }, "missing_field", "messages[0].role"],
    [{ messages: [{ role: "developer", content: "x" }] }, "unsupported_value", "messages[0].role"],
    [chatBody({ options: { temperature: -1 } }), "invalid_request", "options.temperature", "at least 0"],
    [chatBody({ options: { stop: 5 } }), "invalid_request", "options.stop"],
    [chatBody({ options: [] }), "invalid_request", "options", "an object"],
    [chatBody({ format: "yaml" }), "unsupported_value", "format", '"json"'],
    [chatBody({ think: "much" }), "unsupported_value", "think", '"low"'],
    [chatBody({ keep_alive: "soon" }), "invalid_request", "keep_alive", '"5m"'],
    [chatBody({ top_logprobs: 2 }), "contradictory_fields", "top_logprobs", "logprobs"],
    [chatBody({ tools: [{ type: "function" }] }), "missing_field", "tools[0].function"],
    [
      { messages: [{ role: "assistant", tool_calls: [{ function: { name: "f", arguments: 5 } }] }] },
      "invalid_request",
      "messages[0].tool_calls[0].function.arguments",
      "an object",
    ],
  ];
  testRules(parseOllamaChat, RULES);
  testRules(parseOllamaGenerate, [
    [{ prompt: "a", template: "{{ .Prompt }}" }, "unsupported_value", "template", "raw"],
    [{ prompt: "a", context: [1, 2] }, "unsupported_value", "context", "/api/chat"],
  ]);
  testRules(parseOllamaEmbed, [
    [{}, "missing_field", "input"],
    [{ input: [5] }, "invalid_request", "input[0]", "a string"],
    [{ input: "a", dimensions: 0 }, "invalid_request", "dimensions", "at least 1"],
  ]);
});

test.each([
  [null, undefined],
  [0, 0],
  ["0", 0],
  [30, 30_000],
  [-1, Infinity],
  ["-1", Infinity],
  ["-1m", Infinity],
  ["5m", 300_000],
  ["1h30m", 5_400_000],
  ["1.5s", 1500],
  ["250ms", 250],
])("keep_alive %p is %p ms", (field, ms) => expect(keepAliveOf(field)).toBe(ms));

describe("vectors", () => {
  test("of one and of several texts; no text only loads the model", () => {
    expect(parseOllamaEmbed({ input: "a" }).request).toEqual({
      model: "default",
      inputs: ["a"],
      truncate: true,
    });
    expect(parseOllamaEmbed({ input: ["a", "b"], truncate: false }).request).toMatchObject({
      inputs: ["a", "b"],
      truncate: false,
    });
    expect(parseOllamaEmbed({ input: "" }).request.inputs).toEqual([]);
    expect(parseOllamaEmbeddings({ prompt: "a" }).request.inputs).toEqual(["a"]);
  });

  test("times are nanoseconds", () => {
    const call = parseOllamaEmbed({ input: "a" });
    const result = { vectors: [[1]], promptTokens: 3 };
    expect(embedBody(result, call, { totalSecs: 0.5, loadSecs: 0.25 })).toEqual({
      model: "default",
      embeddings: [[1]],
      total_duration: 500_000_000,
      load_duration: 250_000_000,
      prompt_eval_count: 3,
    });
  });
});

describe("models", () => {
  const LOADED = {
    id: "qwen",
    kind: "text",
    created: 0,
    ownedBy: "svc",
    status: "loaded",
    modalities: ["image"],
    contextTokens: 4096,
    abilities: { generates: true, embeds: false, ranks: false, fillsGaps: true, thinks: true },
    weights: { architecture: "qwen3", description: "qwen3 0.6B Q4_K - Medium", sizeBytes: 5 },
  } as const;
  const NEW = { id: "new", kind: "text", created: 0, ownedBy: "svc", status: "unloaded" } as const;

  test("a base model promises no tools", () => {
    const base = { ...LOADED, abilities: { ...LOADED.abilities, isBase: true } } as const;
    expect(showBody(LOADED).capabilities).toContain("tools");
    expect(showBody(base).capabilities).not.toContain("tools");
  });

  test("are listed with their known properties", () => {
    const { models } = tagsBody([LOADED, NEW]);
    expect(models[0]).toEqual({
      name: "qwen",
      model: "qwen",
      size: 5,
      digest: expect.stringMatching(/^[0-9a-f]{64}$/),
      modified_at: "1970-01-01T00:00:00Z",
      details: {
        parent_model: "",
        format: "gguf",
        family: "qwen3",
        families: ["qwen3"],
        parameter_size: "0.6B",
        quantization_level: "Q4_K_M",
      },
    });
    expect(models[1]).toMatchObject({ name: "new", size: 0, details: { family: "", parameter_size: "" } });
    expect(models[0]?.digest).not.toBe(models[1]?.digest);
  });

  test("are shown with their context and capabilities", () => {
    expect(showBody(LOADED)).toMatchObject({
      model_info: { "general.architecture": "qwen3", "qwen3.context_length": 4096 },
      capabilities: ["completion", "tools", "thinking", "vision", "insert"],
      parameters: "num_ctx 4096",
    });
    expect(showBody(NEW)).toMatchObject({ model_info: {}, capabilities: [] });
  });

  test("that generate do not count as embedding models", () => {
    const both = { ...LOADED, abilities: { ...LOADED.abilities, embeds: true } } as const;
    expect(showBody(both).capabilities).not.toContain("embedding");
    const embedder = { generates: false, embeds: true, ranks: false, fillsGaps: false, thinks: false };
    expect(showBody({ ...LOADED, abilities: embedder, modalities: [] }).capabilities).toEqual(["embedding"]);
  });

  test("are described by their files before they are loaded", () => {
    const card = {
      metadata: { "general.basename": "Qwen3", "general.size_label": "600M", "qwen3.embedding_length": 1024 },
      abilities: { generates: true, embeds: false, ranks: false, fillsGaps: true, thinks: true },
      modalities: ["image"],
    } as const;
    const facts = {
      architecture: "qwen3",
      license: undefined,
      quantization: "Q8_0",
      contextTokens: 40_960,
      parameters: 596_049_920,
      chatTemplate: "file",
      sizeBytes: 7,
      memoryBytes: 8,
      card,
    } as const;
    expect(showBody({ ...NEW, facts })).toMatchObject({
      details: { family: "qwen3", parameter_size: "600M", quantization_level: "Q8_0" },
      model_info: {
        ...card.metadata,
        "general.architecture": "qwen3",
        "general.parameter_count": 596_049_920,
      },
      capabilities: ["completion", "tools", "thinking", "vision", "insert"],
    });
    expect(tagsBody([{ ...NEW, facts }]).models[0]).toMatchObject({ size: 7, details: { family: "qwen3" } });
    const sizeOf = (parameters: number) =>
      showBody({ ...NEW, facts: { ...facts, parameters, card: { ...card, metadata: {} } } }).details
        .parameter_size;
    expect([134_515_008, 4_022_468_096, 30_532_122_624, 3_900].map(sizeOf)).toEqual([
      "135M",
      "4B",
      "31B",
      "3.9K",
    ]);
  });

  test("that stay loaded have a date in the far future", () => {
    const [stays, leaves] = psBody([
      { model: LOADED, expiresMs: Infinity },
      { model: LOADED, expiresMs: 1000 },
    ]).models;
    expect(stays).toMatchObject({
      expires_at: "9999-12-31T00:00:00Z",
      context_length: 4096,
      size_vram: 0,
    });
    expect(leaves?.expires_at).toBe("1970-01-01T00:00:01Z");
  });
});
