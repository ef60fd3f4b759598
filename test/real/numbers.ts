// The numbers of real models: tokens as llama.cpp's unpatched libraries make them, log probabilities as near to those of F32 weights as
// llama.cpp's own, what the types of the KV cache cost, requantized and calibrated weights, and the memory that is shown.

import { describe, expect, test } from "bun:test";
import { readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { newFolder, runBinary } from "../helpers/binary.ts";
import { until } from "../helpers/until.ts";
import { ensureReference } from "../zoo/libraries.ts";
import { FILES, realFile } from "./models.ts";
import type { RealReport, RealTask } from "./reference.ts";
import {
  type Answer,
  distance,
  type Memory,
  memoryOf,
  perplexity,
  type RealServer,
  serveReal,
} from "./server.ts";

const REFERENCE = await ensureReference();
if (REFERENCE.type === "missing") console.log(`SKIPPED beside llama.cpp: ${REFERENCE.reason}`);
const MODELS = [
  { name: "SmolLM2-135M-Instruct", path: await realFile(FILES.smollm), isChat: true },
  { name: "Gemma 3 270M", path: await realFile(FILES.gemma), isChat: false },
] as const;

const ROOT = join(import.meta.dir, "../..");
const read = (path: string): string => readFileSync(join(ROOT, path), "utf8");
const languages: readonly (readonly [string, string])[] = JSON.parse(read("test/real/bert-tokens.json"));
/** Prose, code, and letters of many languages: less than the reference's context each. */
const TEXTS = [
  read("docs/agent.md").slice(0, 1600),
  read("src/core/sampling.ts").slice(0, 1000),
  `${languages
    .map(([, text]) => text)
    .join("\n")
    .slice(0, 400)} 👍🏽 x² ﷽ \u00a0\t\t  1234567`,
];
const pages = (...names: readonly string[]): readonly string[] =>
  names.map((name) => read(`docs/${name}.md`).slice(0, 1500));
/** What types of cache and weights are measured with: some 2,500 tokens. */
const MEASURED = pages(
  "agent",
  "building",
  "cli",
  "configuration",
  "data",
  "sampling",
  "install",
  "templates",
);
/** What calibration sees: other pages. */
const TRAFFIC = pages("models", "fleet", "operating", "sandbox", "search", "tools");
const CHATS = [
  ["You are brief.", "What is the capital of France?"],
  ["Be kind.", "Hi", "Hello! How can I help?", "  Zwei\n\nZeilen – 日本語 🙂 "],
];

/** Natural logarithms of probabilities that were computed in batches of other sizes differ by less; those of other prompts by more. */
const ROUNDING = 0.5;

const REQUANTIZED_MS = 120_000;

/** Two thousand tokens each fill four contexts of 8,192. */
const FULL_PROMPTS = 18;

async function reference(dir: string, task: RealTask): Promise<RealReport> {
  const child = Bun.spawn([process.execPath, join(import.meta.dir, "reference.ts"), dir], {
    stdin: Buffer.from(JSON.stringify(task)),
    stderr: "inherit",
  });
  const report = await new Response(child.stdout).text();
  expect(await child.exited).toBe(0);
  return JSON.parse(report);
}

async function withServer<T>(path: string, args: readonly string[], use: (server: RealServer) => Promise<T>) {
  const server = await serveReal(path, args);
  try {
    return await use(server);
  } finally {
    await server.stop();
  }
}

/** Log probabilities of all measured texts. */
async function chancesOf(server: RealServer): Promise<number[]> {
  const all: number[] = [];
  for (const text of MEASURED) all.push(...(await server.chances(text)).logprobs);
  return all;
}

/** Most that a type of the KV cache may add to the perplexity, about twice what was measured (docs/quantization.md). */
const CACHE_TYPES = {
  bf16: 0.02,
  q8_0: 0.02,
  q5_1: 0.05,
  q5_0: 0.05,
  iq4_nl: 0.2,
  q4_1: 0.2,
  q4_0: 0.25,
} as const;

/** The same first token from a conversation as from the tokens that llama.cpp makes of it. */
async function expectSameChat(
  server: RealServer,
  [system = "", ...turns]: readonly string[],
  prompt: readonly number[],
) {
  const said = turns.map((content, at) => ({ role: at % 2 === 0 ? "user" : "assistant", content }));
  const one = { max_tokens: 1, temperature: 0 };
  const messages = [{ role: "system", content: system }, ...said];
  const body = { messages, ...one, logprobs: true, top_logprobs: 5 };
  const { usage, choices: answers } = await server.post("/v1/chat/completions", body);
  expect(usage.prompt_tokens).toBe(prompt.length);
  const { choices } = await server.post("/v1/completions", { prompt, ...one, logprobs: 5 });
  const expected: Readonly<Record<string, number>> = choices[0].logprobs.top_logprobs[0];
  const likely: Answer[] = answers[0].logprobs.content[0].top_logprobs;
  const common = likely.filter(({ token }) => token in expected); // the last places may change with rounding
  expect(common.length).toBeGreaterThanOrEqual(3);
  for (const { token, logprob } of common)
    expect(Math.abs((expected[token] ?? NaN) - logprob)).toBeLessThan(ROUNDING);
}

for (const { name, path = "", isChat } of MODELS)
  describe.skipIf(path === "")(name, () => {
    const chats = isChat ? CHATS : [];

    test.skipIf(REFERENCE.type === "missing")(
      "beside llama.cpp: tokens, log probabilities, perplexity",
      async () => {
        const dir = REFERENCE.type === "found" ? REFERENCE.dir : "";
        const task = { path, isExact: false, texts: TEXTS, chats };
        const theirs = await reference(dir, task);
        const exact = join(newFolder(), "f32.gguf");
        const { exit } = await runBinary(["quantize", path, "F32", "-o", exact], { limitMs: 300_000 });
        expect(exit).toBe(0);
        const truth = (await reference(dir, { ...task, path: exact, isExact: true })).logprobs.flat();
        rmSync(exact);
        await withServer(path, [], async (server) => {
          const ours: number[] = [];
          for (const [at, text] of TEXTS.entries()) {
            const { tokens, logprobs } = await server.chances(text);
            expect(tokens).toEqual((await server.chances(theirs.texts[at] ?? [])).tokens);
            ours.push(...logprobs);
          }
          for (const [at, prompt] of theirs.chats.entries())
            await expectSameChat(server, chats[at] ?? [], prompt);
          const usual = theirs.logprobs.flat();
          const [own, other] = [distance(ours, truth), distance(usual, truth)];
          const [ppl, usualPpl, truePpl] = [ours, usual, truth].map((values) =>
            perplexity(values).toFixed(3),
          );
          console.log(
            `${name}, ${ours.length} tokens: distance from F32 ${own.toFixed(4)}, llama.cpp ${other.toFixed(4)}; ` +
              `perplexity ${ppl}, llama.cpp ${usualPpl}, F32 ${truePpl}`,
          );
          expect(own).toBeLessThan(1.1 * other);
          expect(Math.abs(perplexity(ours) / perplexity(usual) - 1)).toBeLessThan(0.01);
        });
      },
    );

    test("types of the KV cache cost what the documents say", async () => {
      const usual = await withServer(path, [], chancesOf);
      for (const [type, most] of Object.entries(CACHE_TYPES)) {
        const chances = await withServer(path, ["--cache-type", type], chancesOf);
        const cost = perplexity(chances) / perplexity(usual) - 1;
        const apart = distance(chances, usual).toFixed(3);
        console.log(`${name}, ${type}: perplexity ${(100 * cost).toFixed(2)} % above f16, ${apart} apart`);
        expect(Math.abs(cost)).toBeLessThan(most);
      }
    });

    test("weights requantized while it serves, also with statistics of its own traffic", async () => {
      await withServer(path, [], async (server) => {
        const usual = perplexity(await chancesOf(server));
        let seen = 0;
        const costOf = async (type: string, how: string): Promise<number> => {
          const serves = (): boolean => server.stderr().slice(seen).includes(`serving ${type} weights now`);
          await until(`${type} weights serve`, serves, REQUANTIZED_MS);
          seen = server.stderr().length;
          expect(await server.card()).toMatchObject({ quantization: type });
          const cost = perplexity(await chancesOf(server)) / usual - 1;
          console.log(`${name}, ${how}: perplexity ${(100 * cost).toFixed(2)} % above the file`);
          return cost;
        };
        const costs: number[] = [];
        for (const type of ["Q8_0", "Q5_0", "Q4_0"]) {
          await server.post("/re_isq", { ggml_type: type });
          costs.push(await costOf(type, `re_isq ${type}`));
        }
        const [least = 1, , plain = 1] = costs;
        expect(Math.abs(least)).toBeLessThan(0.03);
        await server.post("/calibration/start", { min_rows: 100 });
        for (const [at, text] of TRAFFIC.entries())
          await server.post("/v1/completions", { prompt: text, max_tokens: 48, seed: at });
        await server.post("/calibration/apply", {});
        const calibrated = await costOf("Q4_0", "Q4_0, calibrated");
        expect(calibrated).toBeLessThan(plain + 0.01);
        expect(plain).toBeLessThan(0.7);
      });
    });

    test("weights quantized at the load, with and without a text to calibrate with", async () => {
      const usual = perplexity(await withServer(path, [], chancesOf));
      const text = join(newFolder(), "calibration.txt");
      writeFileSync(text, TRAFFIC.join("\n\n"));
      for (const type of ["Q2_K", "Q4_0"]) {
        const cost = async (...more: readonly string[]): Promise<number> =>
          perplexity(await withServer(path, ["--isq", type, ...more], chancesOf)) / usual - 1;
        const [plain, calibrated] = [await cost(), await cost("--calibration-file", text)];
        const percent = [plain, calibrated].map((part) => `${(100 * part).toFixed(1)} %`);
        console.log(`${name}, ${type}: perplexity ${percent[0]} above the file, calibrated ${percent[1]}`);
        expect(calibrated).toBeLessThan(plain);
      }
    });

    test("the memory that is shown is what the engine takes, and at most that", async () => {
      await withServer(path, [], async (server) => {
        await server.says("Ready.");
        const takes = async (age: string): Promise<Memory> => {
          const memory = await memoryOf(server, `${name}, ${age}`);
          expect(Math.abs(memory.shown / memory.taken - 1)).toBeLessThan(0.1);
          return memory;
        };
        await takes("fresh");
        await chancesOf(server);
        await takes("after texts");
        // Tokens that no prompt had before, until the cache is full.
        for (let prompt = 0; prompt < FULL_PROMPTS; prompt++) {
          const tokens = Array.from(
            { length: 2000 },
            (_, at) => 1000 + ((prompt * 7919 + at * 104_729) % 40_000),
          );
          await server.post("/v1/completions", { prompt: tokens, max_tokens: 2 });
        }
        const { taken, most } = await takes("with a full cache");
        expect(Math.abs(taken / most - 1)).toBeLessThan(0.1);
      });
    });
  });
