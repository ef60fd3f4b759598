// Prefix reuse in memory that cannot be cut, natively: states of recurrent and hybrid models, windows that keep everything.
// Random traffic of turns, edits and users, a few at a time in a small cache, against the same prompts computed from nothing.
// SVC_SLOW_TESTS=1 takes all architectures; `npm run test:zoo` compares them with unpatched llama.cpp.

import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import type { LlamaBackend } from "../../ffi/llama/llama.ts";
import { BASE_MODEL } from "../../src/core/adapter.ts";
import type { Message } from "../../src/core/message.ts";
import { architectureModel } from "../helpers/architecture-models.ts";
import { tinyBackend } from "../helpers/native.ts";
import {
  ADAPTER,
  adapterFor,
  ANSWER_TOKENS,
  coldRuns,
  expectSame,
  Talk,
  words,
} from "../helpers/prefix-talk.ts";
import { random } from "../helpers/world.ts";

const FAST = ["qwen35", "mamba2", "lfm2", "gemma3"];
const SLOW = [
  "qwen3next",
  "jamba",
  "gpt-oss",
  "cohere2",
  "deepseek2",
  "minimax-01",
  "rwkv7",
  "llama4",
  "llama",
];
const NAMES = process.env.SVC_SLOW_TESTS === "1" ? [...FAST, ...SLOW] : FAST;
const RUNS = process.env.SVC_SLOW_TESTS === "1" ? 120 : 24;

describe.each(NAMES)("%s", (name) => {
  let backend: LlamaBackend;

  beforeAll(async () => {
    const sizes = { maxSeqs: 4, prefixCacheN: 6, contextLen: 768, ubatch: 64, batch: 64, threads: 1 };
    const path = architectureModel(name);
    backend = await tinyBackend(sizes, path);
    backend.loadAdapter(ADAPTER, adapterFor(path, backend.info.architecture));
  });
  afterAll(() => backend.close());

  test("a turn without the last answer reuses the previous prompt", () => {
    const chance = random(5);
    const all = words(440, (n) => Math.floor(chance() * n));
    const talk = new Talk(backend, 6);
    for (const length of [200, 260, 320, 380, 440]) {
      talk.add(all.slice(0, length), 16);
      talk.drain();
    }
    const [, ...found] = talk.runs.map(({ cached }) => cached);
    [190, 250, 310, 370].forEach((least, i) => expect(found[i]).toBeGreaterThanOrEqual(least));
    talk.engine.close();
    expectSame(talk.runs, coldRuns(backend, talk.runs));
  });

  test("a turn whose history has edited answers reuses the previous prompt", () => {
    const talk = new Talk(backend, 6);
    const text = (words: string) => [{ type: "text", text: words }] as const;
    const messages: Message[] = [];
    for (let turn = 0; turn < 4; turn++) {
      messages.push({ role: "user", content: text(`Tell me of animal ${turn}: `.repeat(12)) });
      talk.chat(messages);
      talk.drain();
      messages.push({ role: "assistant", content: text(`Stripped ${turn}.`) });
    }
    const [, ...later] = talk.runs;
    for (const { promptTokens, cached } of later) expect(promptTokens - cached).toBeLessThan(130);
    expect(later.at(-1)?.cached).toBeGreaterThan(200);
    talk.engine.close();
  });

  test("simultaneous requests compute their common prefix once", () => {
    const chance = random(6);
    const below = (n: number): number => Math.floor(chance() * n);
    const system = words(100, below);
    const talk = new Talk(backend, 6);
    for (let user = 0; user < 4; user++) talk.add([...system, ...words(20, below)]);
    talk.drain();
    expect(talk.engine.stats().prefixTokens).toBeGreaterThanOrEqual(300);
    talk.engine.close();
    expectSame(talk.runs, coldRuns(backend, talk.runs));
  });

  test("random turns, edits, users and adapters with preemptions: answers equal those of a cold cache", () => {
    const chance = random(7);
    const below = (n: number): number => Math.floor(chance() * n);
    const histories = [30, 80, 150].map((n) => words(n, below));
    const talk = new Talk(backend, 6);
    for (let run = 0; run < RUNS; run++) {
      const history = histories[below(3)] ?? [];
      const kept = chance() < 0.5 ? history : history.slice(0, below(history.length));
      const prompt = [...kept, ...words(1 + below(60), below)].slice(0, 300);
      histories[below(3)] = prompt.length > 250 ? prompt.slice(0, 40) : prompt;
      talk.add(prompt, chance() < 0.2 ? 60 : ANSWER_TOKENS, chance() < 0.3 ? ADAPTER : BASE_MODEL);
      for (let steps = below(30); steps > 0; steps--) talk.engine.step(1);
    }
    talk.drain();
    const { prefixTokens } = talk.engine.stats();
    expect(prefixTokens).toBeGreaterThan(RUNS * 10);
    talk.engine.close();
    expectSame(talk.runs, coldRuns(backend, talk.runs));
  });
});
