// Real models through ./svc, as a user meets them: first answers, calls, schemas, results, base models, perplexity, and tokens of BERT.
// `npm run test:real`; minutes. Bounds lie a little below what was measured, since kernels of processors round differently.

import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { WordPieces } from "../../ffi/bert-text.ts";
import { stringField, stringsField, u32Field } from "../../src/lora/gguf-write.ts";
import { launchServer, type Server } from "../helpers/binary.ts";
import { FILES, realFile } from "./models.ts";

const SMOLLM = await realFile(FILES.smollm);
const GEMMA = await realFile(FILES.gemma);
const VOCABULARY = await realFile(FILES.bertVocabulary);

type Json = Readonly<Record<string, unknown>>;
// oxlint-disable-next-line typescript/no-explicit-any -- answers of the server, which other rings check
type Answer = any;

let server: Server | undefined;
async function serve(model: string | undefined): Promise<void> {
  server = await launchServer(["-m", model ?? ""], { env: { SVC_THREADS: "2" } });
}
async function post(path: string, body: Json): Promise<Answer> {
  const response = await fetch(`${server?.url}${path}`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ model: "default", ...body }),
  });
  const answer: Answer = await response.json();
  expect([response.status, answer.error]).toEqual([200, undefined]);
  return answer;
}
const user = (content: string): Json => ({ role: "user", content });
async function chat(messages: readonly Json[], body: Json = {}): Promise<Answer> {
  return (await post("/v1/chat/completions", { messages, ...body })).choices[0];
}

async function firstCard(): Promise<Answer> {
  const list: Answer = await (await fetch(`${server?.url}/v1/models`)).json();
  return list.data[0];
}

/** exp of the mean negative log probability of a text's tokens. */
async function perplexity(text: string): Promise<number> {
  const { choices } = await post("/v1/completions", {
    prompt: text,
    echo: true,
    logprobs: 0,
    max_tokens: 1,
    temperature: 0,
  });
  const chances: (number | null)[] = choices[0].logprobs.token_logprobs;
  const known = chances.slice(0, -1).filter((chance) => chance !== null);
  return Math.exp(-known.reduce((sum, chance) => sum + chance, 0) / known.length);
}

const QUESTIONS: readonly (readonly [question: string, answer: RegExp])[] = [
  ["What is the capital of France?", /paris/i],
  ["What is the capital of Italy?", /rome/i],
  ["What is 2 + 2?", /4/],
  ["What color is the sky on a clear day?", /blue/i],
  ["What is the opposite of hot?", /cold/i],
  ["How many days are in a week?", /7|seven/i],
  ["What is the largest planet in our solar system?", /jupiter/i],
  ["What is the chemical formula of water?", /h2o/i],
  ["Who wrote Romeo and Juliet?", /shakespeare/i],
  ["What animal says meow?", /cat/i],
];
/** Natural logarithm of a probability that no sensible token has. */
const ABSURD = -8;

const tool = (name: string, description: string, ...args: readonly string[]): Json => ({
  type: "function",
  function: {
    name,
    description,
    parameters: {
      type: "object",
      properties: Object.fromEntries(args.map((arg) => [arg, { type: "string" }])),
      required: args,
    },
  },
});
const TOOLS = [
  tool("get_weather", "Current weather of a city", "city"),
  tool("read_file", "Read a file", "path"),
  tool("calculate", "Evaluate arithmetic", "expression"),
];
const FORCED = [
  ["get_weather", "What is the weather in Paris?"],
  ["read_file", "Read the file notes.txt"],
  ["calculate", "What is 23 * 17?"],
] as const;
const RESULTS: readonly (readonly [
  question: string,
  name: string,
  args: Json,
  result: string,
  used: RegExp,
])[] = [
  [
    "What is the weather in Paris?",
    "get_weather",
    { city: "Paris" },
    '{"temperature": 18, "sky": "cloudy"}',
    /18|cloud/i,
  ],
  ["What does notes.txt say?", "read_file", { path: "notes.txt" }, "Buy milk and eggs.", /milk/i],
  ["What is 23 * 17?", "calculate", { expression: "23 * 17" }, "391", /391/],
  ["What is the weather in Oslo?", "get_weather", { city: "Oslo" }, "-3 degrees, snow", /-3|snow/i],
];

describe.skipIf(SMOLLM === undefined)("SmolLM2-135M-Instruct", () => {
  beforeAll(() => serve(SMOLLM));
  afterAll(async () => void (await server?.stop()));

  test("ten questions, four seeds, nothing said of sampling: 22 of 40 right, no absurd token", async () => {
    let right = 0;
    let absurd = 0;
    for (const [question, expected] of QUESTIONS)
      for (let seed = 1; seed <= 4; seed++) {
        const { message, logprobs } = await chat([user(question)], { max_tokens: 48, seed, logprobs: true });
        right += expected.test(message.content) ? 1 : 0;
        absurd += logprobs.content.some(({ logprob }: Answer) => logprob < ABSURD) ? 1 : 0;
      }
    console.log(`right ${right} of 40, with an absurd token ${absurd}`);
    expect(right).toBeGreaterThanOrEqual(22);
    expect(absurd).toBe(0);
  });

  test("forced calls end: named ones with one call, required ones nine times of ten", async () => {
    let ended = 0;
    for (const [name, question] of FORCED)
      for (const seed of [1, 2]) {
        const body = { tools: TOOLS, max_tokens: 250, seed };
        const named = await chat([user(question)], {
          ...body,
          tool_choice: { type: "function", function: { name } },
        });
        expect([named.finish_reason, named.message.tool_calls.length]).toEqual(["tool_calls", 1]);
        expect(named.message.tool_calls[0].function.name).toBe(name);
        JSON.parse(named.message.tool_calls[0].function.arguments);
        const required = await chat([user(question)], { ...body, tool_choice: "required" });
        ended += required.finish_reason === "tool_calls" ? 1 : 0;
      }
    console.log(`required calls that ended: ${ended} of 6`);
    expect(ended).toBeGreaterThanOrEqual(5);
  });

  test("results of tools are answered from, without their markup", async () => {
    let used = 0;
    for (const [question, name, args, result, expected] of RESULTS) {
      const call = { id: "c1", type: "function", function: { name, arguments: JSON.stringify(args) } };
      const messages = [user(question), { role: "assistant", content: null, tool_calls: [call] }];
      const told = [...messages, { role: "tool", tool_call_id: "c1", content: result }];
      const { message } = await chat(told, { tools: TOOLS, temperature: 0, max_tokens: 40 });
      expect(message.content ?? "").not.toContain("tool_response");
      used += expected.test(message.content ?? "") ? 1 : 0;
    }
    console.log(`results used: ${used} of ${RESULTS.length}`);
    expect(used).toBeGreaterThanOrEqual(2);
  });

  test("an answer in a schema is JSON of it", async () => {
    const schema = { type: "object", properties: { answer: { type: "boolean" } }, required: ["answer"] };
    const format = { type: "json_schema", json_schema: { name: "yes_or_no", schema } };
    for (const seed of [1, 2, 3]) {
      const body = { response_format: format, max_tokens: 160, seed };
      const { message, finish_reason: reason } = await chat([user("Is Paris in France?")], body);
      expect([reason, typeof JSON.parse(message.content).answer]).toEqual(["stop", "boolean"]);
    }
  });

  test("perplexity is that of the model, and little worse after it is requantized", async () => {
    const text = readFileSync(join(import.meta.dir, "../../README.md"), "utf8").slice(0, 6000);
    const before = await perplexity(text);
    await post("/re_isq", { ggml_type: "Q8_0" });
    await server?.says("serving Q8_0 weights now");
    const after = await perplexity(text);
    console.log(`perplexity ${before.toFixed(3)}, after Q4_1 → Q8_0 ${after.toFixed(3)}`);
    expect(before).toBeLessThan(200);
    expect(Math.abs(after / before - 1)).toBeLessThan(0.02);
  });
});

describe.skipIf(GEMMA === undefined)("Gemma 3 270M, a base model", () => {
  beforeAll(() => serve(GEMMA));
  afterAll(async () => void (await server?.stop()));

  test("continues a text in chat and completions alike, without markup, and ends", async () => {
    const body = { temperature: 0, max_tokens: 12 };
    const text = "Roses are red, violets are";
    const said = await chat([user(text)], body);
    const continued = (await post("/v1/completions", { prompt: text, ...body })).choices[0].text;
    expect(said.message.content).not.toContain("<|im_");
    expect(said.message.content.slice(0, 5)).toBe(continued.slice(0, 5));
    const answer = await post("/v1/chat/completions", { messages: [user("Once upon a time")] });
    expect(answer.usage.completion_tokens).toBeLessThanOrEqual(256);
  });

  test("its card says what it is", async () => {
    expect(await firstCard()).toMatchObject({ chat_template: "none", capabilities: { tools: false } });
  });
});

describe.skipIf(VOCABULARY === undefined)("all-MiniLM-L6-v2", () => {
  const expected: readonly [string, string, readonly number[]][] = JSON.parse(
    readFileSync(join(import.meta.dir, "bert-tokens.json"), "utf8"),
  );
  test.each(expected.map(([language, text, ids]) => ({ language, text, ids })))(
    "tokens of $language",
    ({ text, ids }) => {
      const words = readFileSync(VOCABULARY ?? "", "utf8")
        .split("\n")
        .filter((word) => word !== "");
      const tokens = words.map((word) =>
        /^\[\w+\]$/.test(word) ? word : word.startsWith("##") ? word.slice(2) : `▁${word}`,
      );
      const id = (name: string): number => words.indexOf(name);
      const fields = [
        stringField("tokenizer.ggml.model", "bert"),
        stringsField("tokenizer.ggml.tokens", tokens),
        u32Field("tokenizer.ggml.unknown_token_id", id("[UNK]")),
        u32Field("tokenizer.ggml.bos_token_id", id("[CLS]")),
        u32Field("tokenizer.ggml.seperator_token_id", id("[SEP]")),
      ];
      const pieces = WordPieces.of(new Map(fields.map((field) => [field.key, field])));
      expect([...(pieces?.encode(text) ?? [])]).toEqual([...ids]);
    },
  );
});
