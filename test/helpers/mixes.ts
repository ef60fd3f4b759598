// Random mixes of requests over one model, and the same requests alone: what an answer depends on besides its request.

import type { LlamaBackend } from "../../ffi/llama/llama.ts";
import type { RunEvent } from "../../src/core/run.ts";
import { Engine, type EngineDeps } from "../../src/worker/text/engine.ts";
import { noConstraints } from "./fake-backend.ts";
import { until } from "./until.ts";
import { request } from "./world.ts";

/** How long runs may take on a busy machine, milliseconds. */
const RUNS_MS = 300_000;

/** A request of tokens. */
export interface Ask {
  readonly prompt: readonly number[];
  readonly maxTokens: number;
  readonly temperature: number;
  readonly seed: number;
}

/** Tokens of an answer and their log probabilities. */
export interface Answer {
  readonly tokens: number[];
  readonly logprobs: number[];
}

/** Returns a number in [0, n). */
export type Below = (n: number) => number;

/** Requests of which some share beginnings; some texts repeat, so that n-grams draft. */
export function randomAsks(
  count: number,
  below: Below,
  { promptMax, answerMax }: { readonly promptMax: number; readonly answerMax: number },
): readonly Ask[] {
  const words = (n: number): number[] => Array.from({ length: n }, () => 3 + below(2000));
  const beginnings = [words(promptMax / 2), words(promptMax / 3), words(40)];
  return Array.from({ length: count }, () => {
    const beginning = below(3) === 0 ? [] : (beginnings[below(3)] ?? []);
    const own = words(1 + below(promptMax / 4));
    const prompt = [
      ...beginning.slice(0, below(beginning.length + 1)),
      ...own,
      ...(below(4) === 0 ? own : []),
    ];
    return { prompt, maxTokens: 1 + below(answerMax), temperature: below(2), seed: below(1000) };
  });
}

/** An engine over a backend; answers of its runs by the order of `add`. */
export class Mixer {
  readonly engine: Engine;
  readonly answers: Answer[] = [];
  private ended = 0;

  constructor(backend: LlamaBackend, deps: Partial<EngineDeps> = {}) {
    this.engine = new Engine({
      backend,
      constraints: noConstraints,
      prefixCacheN: 0,
      checkpointBytes: 1 << 26,
      emit: (run, event) => this.take(run, event),
      now: () => performance.now(),
      newSeed: () => 1,
      ...deps,
    });
  }

  private take(run: number, event: RunEvent): void {
    if (event.type === "error") throw new Error(event.error.message);
    if (event.type === "finish") this.ended++;
    if (event.type !== "text") return;
    const answer = this.answers[run];
    for (const { token, logprob } of event.logprobs ?? []) {
      answer?.tokens.push(token);
      answer?.logprobs.push(logprob);
    }
  }

  add({ prompt, maxTokens, temperature, seed }: Ask): void {
    const id = this.answers.push({ tokens: [], logprobs: [] }) - 1;
    const { sampling, ...rest } = request(prompt, { maxTokens, ignoreEnd: true, logprobs: { top: 0 } });
    this.engine.add(id, { ...rest, sampling: { ...sampling, temperature, seed } });
  }

  /** Until all runs have ended; blocks are read and written between steps. */
  async drain(): Promise<void> {
    await until(
      "all runs have ended",
      () => {
        while (this.engine.step(5) !== "idle");
        return this.ended === this.answers.length;
      },
      RUNS_MS,
    );
  }
}

/** The answers of requests that arrive in bursts at random times. */
export async function mixed(mixer: Mixer, asks: readonly Ask[], below: Below): Promise<readonly Answer[]> {
  const first = mixer.answers.length;
  for (const ask of asks) {
    mixer.add(ask);
    for (let steps = below(2) * below(8); steps > 0; steps--) mixer.engine.step(1);
  }
  await mixer.drain();
  return mixer.answers.slice(first);
}

/** The answers of requests one after the other, each computed from nothing. */
export async function alone(backend: LlamaBackend, asks: readonly Ask[]): Promise<readonly Answer[]> {
  const mixer = new Mixer(backend);
  for (const ask of asks) {
    mixer.add(ask);
    await mixer.drain();
  }
  mixer.engine.close();
  return mixer.answers;
}

/** Where answers differ: requests with other tokens, with other log probabilities, and the largest difference of one. */
export interface Difference {
  readonly answers: number;
  readonly tokens: number;
  readonly logprobs: number;
  readonly largest: number;
}

export function difference(some: readonly Answer[], others: readonly Answer[]): Difference {
  let tokens = 0;
  let logprobs = 0;
  let largest = 0;
  some.forEach((one, i) => {
    const other = others[i] ?? { tokens: [], logprobs: [] };
    if (one.tokens.join() !== other.tokens.join()) tokens++;
    if (one.logprobs.join() !== other.logprobs.join()) logprobs++;
    for (const [at, logprob] of one.logprobs.entries()) {
      if (one.tokens[at] !== other.tokens[at]) break; // what follows answers another text
      largest = Math.max(largest, Math.abs(logprob - (other.logprobs[at] ?? 0)));
    }
  });
  return { answers: some.length, tokens, logprobs, largest };
}
