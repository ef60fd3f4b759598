// Real models through ./svc, as a user meets them: first answers, calls, schemas, results, a base model.
// Bounds lie a little below what was measured, since kernels of processors round differently.

import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { FILES, realFile } from "./models.ts";
import { QUESTIONS } from "./questions.ts";
import { type Answer, type Json, type RealServer, serveReal, user } from "./server.ts";

const SMOLLM = await realFile(FILES.smollm);
const GEMMA = await realFile(FILES.gemma);

let server: RealServer | undefined;
const serve = async (model: string | undefined): Promise<void> => void (server = await serveReal(model));
/** The server of the present group. */
function svc(): RealServer {
  if (server === undefined) throw new Error("no server runs");
  return server;
}

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

  test("ten questions, four seeds, nothing said of sampling: 26 of 40 right, no absurd token", async () => {
    let right = 0;
    let absurd = 0;
    for (const [question, expected] of QUESTIONS)
      for (let seed = 1; seed <= 4; seed++) {
        const { message, logprobs } = await svc().chat([user(question)], {
          max_tokens: 48,
          seed,
          logprobs: true,
        });
        right += expected.test(message.content) ? 1 : 0;
        absurd += logprobs.content.some(({ logprob }: Answer) => logprob < ABSURD) ? 1 : 0;
      }
    console.log(`right ${right} of 40, with an absurd token ${absurd}`);
    expect(right).toBeGreaterThanOrEqual(26);
    expect(absurd).toBe(0);
  });

  test("forced calls end: named ones with one call, required ones nine times of ten", async () => {
    let ended = 0;
    for (const [name, question] of FORCED)
      for (const seed of [1, 2]) {
        const body = { tools: TOOLS, max_tokens: 250, seed };
        const named = await svc().chat([user(question)], {
          ...body,
          tool_choice: { type: "function", function: { name } },
        });
        expect([named.finish_reason, named.message.tool_calls.length]).toEqual(["tool_calls", 1]);
        expect(named.message.tool_calls[0].function.name).toBe(name);
        JSON.parse(named.message.tool_calls[0].function.arguments);
        const required = await svc().chat([user(question)], { ...body, tool_choice: "required" });
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
      const { message } = await svc().chat(told, { tools: TOOLS, temperature: 0, max_tokens: 40 });
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
      const { message, finish_reason: reason } = await svc().chat([user("Is Paris in France?")], body);
      expect([reason, typeof JSON.parse(message.content).answer]).toEqual(["stop", "boolean"]);
    }
  });
});

describe.skipIf(GEMMA === undefined)("Gemma 3 270M, a base model", () => {
  beforeAll(() => serve(GEMMA));
  afterAll(async () => void (await server?.stop()));

  test("continues a text in chat and completions alike, without markup, and ends", async () => {
    const body = { temperature: 0, max_tokens: 12 };
    const text = "Roses are red, violets are";
    const said = await svc().chat([user(text)], body);
    const continued = (await svc().post("/v1/completions", { prompt: text, ...body })).choices[0].text;
    expect(said.message.content).not.toContain("<|im_");
    expect(said.message.content.slice(0, 5)).toBe(continued.slice(0, 5));
    const answer = await svc().post("/v1/chat/completions", { messages: [user("Once upon a time")] });
    expect(answer.usage.completion_tokens).toBeLessThanOrEqual(256);
  });

  test("its card says what it is", async () => {
    expect(await svc().card()).toMatchObject({ chat_template: "none", capabilities: { tools: false } });
  });
});
