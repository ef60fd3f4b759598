// Runs over a small engine whose answers are compared with those of an engine that shares nothing.

import { expect } from "bun:test";
import { join } from "node:path";
import type { LlamaBackend } from "../../ffi/llama/llama.ts";
import { type AdapterId, BASE_MODEL } from "../../src/core/adapter.ts";
import { readGgufHeader } from "../../src/core/gguf-file.ts";
import { f32Field, stringField, writeGguf } from "../../src/lora/gguf-write.ts";
import type { Message } from "../../src/core/message.ts";
import type { RunEvent, TokenLogprob } from "../../src/core/run.ts";
import { Engine, type EngineDeps } from "../../src/worker/text/engine.ts";
import { chatRequest } from "./engine-run.ts";
import { noConstraints } from "./fake-backend.ts";
import { tempDir } from "./tmp.ts";
import { f32Tensor } from "./tiny-tensors.ts";
import { request } from "./world.ts";

/** Rounding of log probabilities between passes of other sizes. */
const TOLERANCE = 0.02;
export const ANSWER_TOKENS = 8;

/** Id of the adapter that `adapterFor` writes. */
export const ADAPTER: AdapterId = 1;

/** An adapter for a model's first matrix that leads back into the stream between layers. */
export function adapterFor(model: string, architecture: string): string {
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

export interface Answered {
  readonly prompt: readonly number[];
  readonly adapter: AdapterId;
  readonly tokens: TokenLogprob[];
  cached: number;
  promptTokens: number;
}

/** An engine over a backend, and what its runs say. */
export class Talk {
  readonly engine: Engine;
  readonly runs: Answered[] = [];

  constructor(backend: LlamaBackend, prefixCacheN: number, tiers?: EngineDeps["tiers"]) {
    this.engine = new Engine({
      backend,
      constraints: noConstraints,
      prefixCacheN,
      checkpointBytes: 1 << 26,
      tiers,
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
export function expectSame(answered: readonly Answered[], cold: readonly Answered[]): void {
  answered.forEach(({ tokens }, run) => {
    expect(tokens).toHaveLength(cold[run]?.tokens.length ?? -1);
    for (const [i, { token, logprob }] of tokens.entries()) {
      const other = cold[run]?.tokens[i];
      expect(Math.abs(logprob - (other?.logprob ?? 0))).toBeLessThan(TOLERANCE);
      if (token !== other?.token) return;
    }
  });
}

/** The same runs, each alone and computed from nothing. */
export function coldRuns(backend: LlamaBackend, runs: readonly Answered[]): readonly Answered[] {
  const talk = new Talk(backend, 0);
  for (const { prompt, tokens, adapter } of runs) {
    talk.add(prompt, tokens.length, adapter);
    talk.drain();
  }
  return talk.runs;
}

/** Random tokens. */
export function words(count: number, below: (n: number) => number): number[] {
  return Array.from({ length: count }, () => 3 + below(2000));
}
