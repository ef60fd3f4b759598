// A real chat model through every surface: the same question gets the same answer in all dialects, and a good one on the page, in the
// terminal, and where the server runs a tool.

import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { itemAt } from "../../src/core/assert.ts";
import { runBinary } from "../helpers/binary.ts";
import { describeInBrowser, say, visit } from "../helpers/browser.ts";
import { describeWith } from "../helpers/programs.ts";
import { FILES, realFile } from "./models.ts";
import { QUESTIONS } from "./questions.ts";
import { type Answer, type Json, type RealServer, serveReal, user } from "./server.ts";

const SMOLLM = await realFile(FILES.smollm);
const TOKENS = 64;

/** A question as a dialect asks it, and where it has the answer. */
const DIALECTS: Readonly<
  Record<string, { path: string; body: (text: string) => Json; answer: (body: Answer) => string }>
> = {
  chat: {
    path: "/v1/chat/completions",
    body: (text) => ({ messages: [user(text)], max_tokens: TOKENS }),
    answer: ({ choices }) => choices[0].message.content,
  },
  responses: {
    path: "/v1/responses",
    body: (text) => ({ input: text, max_output_tokens: TOKENS, store: false }),
    answer: ({ output }) => output[0].content[0].text,
  },
  messages: {
    path: "/v1/messages",
    body: (text) => ({ messages: [user(text)], max_tokens: TOKENS }),
    answer: ({ content }) => content[0].text,
  },
  "ollama chat": {
    path: "/api/chat",
    body: (text) => ({ messages: [user(text)], stream: false, options: { num_predict: TOKENS } }),
    answer: ({ message }) => message.content,
  },
  "ollama generate": {
    path: "/api/generate",
    body: (text) => ({ prompt: text, stream: false, options: { num_predict: TOKENS } }),
    answer: ({ response }) => response,
  },
};

/** Answers of each surface to ten questions with four seeds, and how many of them must be right: a little less than were. */
const SEEDS = [1, 2, 3, 4];
const RIGHT_MIN = 26;

function expectRight(where: string, right: number): void {
  console.log(`right ${where}: ${right} of ${SEEDS.length * QUESTIONS.length}`);
  expect(right).toBeGreaterThanOrEqual(RIGHT_MIN);
}

describe.skipIf(SMOLLM === undefined)("SmolLM2-135M-Instruct", () => {
  let servers: readonly RealServer[];
  beforeAll(async () => {
    servers = await Promise.all(SEEDS.map((seed) => serveReal(SMOLLM, ["--enable-code-execution"], seed)));
  });
  afterAll(async () => void (await Promise.all(servers.map((server) => server.stop()))));

  test("the same answers in all dialects, nothing said of sampling", async () => {
    let right = 0;
    for (const server of servers)
      for (const [question, expected] of QUESTIONS) {
        const answers = [];
        for (const { path, body, answer } of Object.values(DIALECTS))
          answers.push(answer(await server.post(path, body(question))).trim());
        expect(new Set(answers)).toEqual(new Set(answers.slice(0, 1)));
        right += expected.test(answers[0] ?? "") ? 1 : 0;
      }
    expectRight(`in each of ${Object.keys(DIALECTS).join(", ")}`, right);
  });

  test("first answers in the terminal", async () => {
    let right = 0;
    for (const seed of SEEDS)
      for (const [question, expected] of QUESTIONS) {
        const args = ["run", "-m", SMOLLM ?? "", "--max-tokens", String(TOKENS), question];
        const env = { SVC_THREADS: "2", SVC_SEED: String(seed) };
        const { out, exit } = await runBinary(args, { env, limitMs: 120_000 });
        expect(exit).toBe(0);
        right += expected.test(out) ? 1 : 0;
      }
    expectRight("in the terminal", right);
  });

  describeInBrowser("the page", () => {
    test("first answers", async () => {
      let right = 0;
      for (const server of servers) {
        const { page } = await visit(server.url);
        page.setDefaultTimeout(120_000);
        for (const [question, expected] of QUESTIONS) {
          await page.goto(`${server.url}/ui/`);
          await say(page, question);
          const answer = (await page.locator(".answer > .markdown").allInnerTexts()).at(-1) ?? "";
          right += expected.test(answer) ? 1 : 0;
        }
      }
      expectRight("on the page", right);
    });
  });

  describeWith("python3")("a tool that the server runs", () => {
    test("is called where it must be, and the answer ends after its result", async () => {
      const tools = { tools: [{ type: "code_interpreter" }], tool_choice: "required", max_tokens: 256 };
      let ended = 0;
      for (const question of [
        "What is 23 * 17? Use Python.",
        "Print the numbers from 1 to 5 with Python.",
        "Say hello.",
      ]) {
        const body = { messages: [user(question)], temperature: 0, ...tools };
        const { choices, agentic_tool_calls: calls = [] } = await itemAt(servers, 0).post(
          "/v1/chat/completions",
          body,
        );
        const { finish_reason: reason, message } = choices[0];
        console.log(`${question} ${JSON.stringify(calls)}; ${reason}: ${message.content}`);
        expect(message.content ?? "").not.toMatch(/tool_(?:call|response)>/);
        ended += calls.length > 0 && reason === "stop" ? 1 : 0;
      }
      expect(ended).toBeGreaterThanOrEqual(2);
    });
  });
});
