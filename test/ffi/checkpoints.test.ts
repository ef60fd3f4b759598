// Prefix reuse in memory that cannot be cut, natively: states of recurrent and hybrid models, windows that keep everything.
// Random traffic of turns, edits and users, a few at a time in a small cache, against the same prompts computed from nothing.
// SVC_SLOW_TESTS=1 takes all architectures; `npm run test:zoo` compares them with unpatched llama.cpp.

import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { join } from "node:path";
import type { LlamaBackend } from "../../ffi/llama.ts";
import { type AdapterId, BASE_MODEL } from "../../src/core/adapter.ts";
import { readGgufHeader } from "../../src/core/gguf.ts";
import { f32Field, stringField, writeGguf } from "../../src/lora/gguf-write.ts";
import type { Message } from "../../src/core/message.ts";
import type { RunEvent, TokenLogprob } from "../../src/core/run.ts";
import { Engine } from "../../src/worker/text/engine.ts";
import { architectureModel } from "../helpers/architecture-models.ts";
import { chatRequest } from "../helpers/engine-run.ts";
import { noConstraints } from "../helpers/fake-backend.ts";
import { tinyBackend } from "../helpers/native.ts";
import { tempDir } from "../helpers/tmp.ts";
import { f32Tensor } from "../helpers/tiny-tensors.ts";
import { random, request } from "../helpers/world.ts";

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

/** Rounding of log probabilities between passes of other sizes. */
const TOLERANCE = 0.02;
const ANSWER_TOKENS = 8;

const ADAPTER: AdapterId = 1;

/** An adapter for a model's first matrix that leads back into the stream between layers. */
function adapterFor(model: string, architecture: string): string {
  const { tensors } = readGgufHeader(model);
  const base = [...tensors.values()].find(({ name }) =>
    /(attn_output|ssm_out|ffn_down|time_mix_output)\.weight$/.test(name),
  );
  const [inputs = 0, outputs = 0] = base?.shape ?? [];
  const path = join(tempDir(), "adapter.gguf");
  const fields = [
    stringField("general.type", "adapter"),
    stringField("general.architecture", architecture),
    stringField("adapter.type", "lora"),
    f32Field("adapter.lora.alpha", 4),
  ];
  const fill = (i: number): number => (((i * 7) % 61) - 30) / 120;
  writeGguf(path, fields, [
    f32Tensor(`${base?.name}.lora_a`, fill, inputs, 2),
    f32Tensor(`${base?.name}.lora_b`, fill, 2, outputs),
  ]);
  return path;
}

interface Answered {
  readonly prompt: readonly number[];
  readonly adapter: AdapterId;
  readonly tokens: TokenLogprob[];
  cached: number;
  promptTokens: number;
}

/** An engine over a backend, and what its runs say. */
class Talk {
  readonly engine: Engine;
  readonly runs: Answered[] = [];

  constructor(backend: LlamaBackend, prefixCacheN: number) {
    this.engine = new Engine({
      backend,
      constraints: noConstraints,
      prefixCacheN,
      checkpointBytes: 1 << 26,
      emit: (run, event) => this.take(run, event),
      now: () => performance.now(),
      newSeed: () => 1,
    });
  }

  private take(run: number, event: RunEvent): void {
    if (event.type === "error") throw new Error(event.error.message);
    const answered = this.runs[run];
    if (answered === undefined) return;
    if (event.type === "text") answered.tokens.push(...(event.logprobs ?? []));
    if (event.type === "finish")
      Object.assign(answered, { cached: event.usage.cachedTokens, promptTokens: event.usage.promptTokens });
  }

  add(prompt: readonly number[], maxTokens = ANSWER_TOKENS, adapter = BASE_MODEL): void {
    const id = this.runs.push({ prompt, adapter, tokens: [], cached: 0, promptTokens: 0 }) - 1;
    const { sampling, ...rest } = request(prompt, { maxTokens, ignoreEnd: true, logprobs: { top: 0 } });
    this.engine.add(id, { ...rest, sampling: { ...sampling, temperature: 0 } }, adapter);
  }

  chat(messages: readonly Message[]): void {
    const id =
      this.runs.push({ prompt: [], adapter: BASE_MODEL, tokens: [], cached: 0, promptTokens: 0 }) - 1;
    const { prompt, ...rest } = chatRequest("", { maxTokens: ANSWER_TOKENS, ignoreEnd: true });
    if (prompt.type === "chat")
      this.engine.add(id, { ...rest, prompt: { ...prompt, messages: [...messages] } });
  }

  drain(): void {
    while (this.engine.step(5) !== "idle");
  }
}

/** The same tokens with the same log probabilities, up to one where rounding may choose. */
function expectSame(answered: readonly Answered[], cold: readonly Answered[]): void {
  answered.forEach(({ tokens }, run) => {
    expect(tokens).toHaveLength(cold[run]?.tokens.length ?? -1);
    for (const [i, { token, logprob }] of tokens.entries()) {
      const other = cold[run]?.tokens[i];
      expect(Math.abs(logprob - (other?.logprob ?? 0))).toBeLessThan(TOLERANCE);
      if (token !== other?.token) return;
    }
  });
}

function words(count: number, below: (n: number) => number): number[] {
  return Array.from({ length: count }, () => 3 + below(2000));
}

describe.each(NAMES)("%s", (name) => {
  let backend: LlamaBackend;

  beforeAll(async () => {
    const sizes = { maxSeqs: 4, prefixCacheN: 6, contextLen: 768, ubatch: 64, batch: 64, threads: 1 };
    const path = architectureModel(name);
    backend = await tinyBackend(sizes, path);
    backend.loadAdapter(ADAPTER, adapterFor(path, backend.info.architecture));
  });
  afterAll(() => backend.close());

  function cold(runs: readonly Answered[]): readonly Answered[] {
    const talk = new Talk(backend, 0);
    for (const { prompt, tokens, adapter } of runs) {
      talk.add(prompt, tokens.length, adapter);
      talk.drain();
    }
    return talk.runs;
  }

  test("turns without the last answer find the prompt before", () => {
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
    expectSame(talk.runs, cold(talk.runs));
  });

  test("turns of a conversation whose answers become others in the history find the prompt before", () => {
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

  test("users who come together compute their common beginning once", () => {
    const chance = random(6);
    const below = (n: number): number => Math.floor(chance() * n);
    const system = words(100, below);
    const talk = new Talk(backend, 6);
    for (let user = 0; user < 4; user++) talk.add([...system, ...words(20, below)]);
    talk.drain();
    expect(talk.engine.stats().prefixTokens).toBeGreaterThanOrEqual(300);
    talk.engine.close();
    expectSame(talk.runs, cold(talk.runs));
  });

  test("random turns, edits, users and adapters, with preemptions, say what they say from nothing", () => {
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
    expectSame(talk.runs, cold(talk.runs));
  });
});
