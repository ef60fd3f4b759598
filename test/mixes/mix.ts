// One mix: requests that arrive at random steps in one engine, of which some are aborted, and between which an adapter is loaded
// anew. A mix is all that its outcome depends on, so that it can be run again and made smaller.

import type { GrammarEngine } from "../../ffi/llama/grammar.ts";
import type { LlamaBackend } from "../../ffi/llama/llama.ts";
import type { ErrorData } from "../../src/core/error.ts";
import type { RunEvent, Usage } from "../../src/core/run.ts";
import type { DraftKind } from "../../src/worker/text/decode/speculative.ts";
import { Engine } from "../../src/worker/text/engine.ts";
import { type Answer, emptyAnswer, take } from "../helpers/engine-run.ts";
import type { Below } from "../helpers/mixes.ts";
import { random } from "../helpers/world.ts";
import type { MixAsk } from "./asks.ts";

/** A request of a mix. */
export interface Arrival {
  readonly ask: MixAsk;
  /** Steps after it, before the next request arrives. */
  readonly steps: number;
  /** It is aborted after these; absent: it runs to its end. */
  readonly abortAfter?: number;
}

export interface Mix {
  readonly arrivals: readonly Arrival[];
  readonly drafts: DraftKind;
  readonly prefixCacheN: number;
  readonly multiStepMs: number;
  /** The clock goes on by up to this many milliseconds a reading, at random above 1. */
  readonly clockMs: number;
  /** What a draft model takes for a pass, milliseconds. */
  readonly followMs: number;
  /** Adapters are freed and loaded again before this request; absent: never. */
  readonly swapBefore?: number;
}

/** What became of a request. */
export interface Outcome {
  readonly answers: readonly Answer[];
  readonly isAborted: boolean;
  readonly usage?: Usage;
  readonly error?: ErrorData;
}

/** A model in a context of its own. */
export interface MixWorld {
  readonly backend: LlamaBackend;
  readonly grammars: GrammarEngine;
  /** Files of the adapters 1, 2 … */
  readonly adapters: readonly string[];
}

export interface MixResult {
  readonly outcomes: readonly Outcome[];
  readonly drafted: number;
  readonly accepted: number;
  readonly preemptions: number;
}

const STEPS_MAX = 200_000;

export function randomMix(asks: readonly MixAsk[], drafts: readonly DraftKind[], below: Below): Mix {
  const arrivals = Array.from({ length: 1 + below(10) }, (): Arrival => {
    const ask = asks[below(asks.length)];
    if (ask === undefined) throw new Error("there are requests");
    const abort = below(8) === 0 ? { abortAfter: below(30) } : {};
    return { ask, steps: below(4) === 0 ? below(60) : below(3), ...abort };
  });
  return {
    arrivals,
    drafts: drafts[below(drafts.length)] ?? "off",
    prefixCacheN: below(2) * 4,
    multiStepMs: below(2),
    clockMs: below(3) === 0 ? 4 : 1,
    followMs: below(4) === 0 ? 3 : 0,
    ...(below(4) === 0 ? { swapBefore: below(arrivals.length) } : {}),
  };
}

/** Runs a mix on a cache that is empty. */
export function runMix({ backend, grammars, adapters }: MixWorld, mix: Mix): MixResult {
  const outcomes = mix.arrivals.map(({ ask: { request } }) => ({
    answers: Array.from({ length: request.choices }, emptyAnswer),
    isAborted: false,
  })) as Mutable<Outcome>[];
  const chance = random(1);
  let clock = 0;
  const engine = new Engine({
    backend,
    constraints: () => grammars,
    drafts: mix.drafts,
    prefixCacheN: mix.prefixCacheN,
    multiStepMs: mix.multiStepMs,
    checkpointBytes: 1 << 26,
    emit: (run, event) => note(outcomes[run], event),
    now: () => (clock += mix.clockMs === 1 ? 1 : mix.clockMs * chance()),
    newSeed: () => 1,
  });
  if (backend.draftModel !== undefined) {
    backend.draftModel.takeMs = () => mix.followMs;
    backend.draftModel.follow(true);
  }
  const stepper = new Stepper(engine, mix, outcomes);
  mix.arrivals.forEach(({ ask, steps }, id) => {
    if (id === mix.swapBefore) {
      stepper.drain();
      adapters.forEach((file, i) => swap(engine, backend, i + 1, file));
    }
    engine.add(id, ask.request, ask.adapter);
    stepper.added(id);
    for (let i = 0; i < steps; i++) stepper.step(0);
  });
  stepper.drain();
  const { draftTokens, draftHits, preemptions } = engine.stats();
  engine.close();
  return { outcomes, drafted: draftTokens, accepted: draftHits, preemptions };
}

type Mutable<T> = { -readonly [K in keyof T]: T[K] };

function swap(engine: Engine, backend: LlamaBackend, adapter: number, file: string): void {
  engine.forgetAdapter(adapter);
  backend.freeAdapter(adapter);
  backend.loadAdapter(adapter, file);
}

/** Steps of an engine, with aborts when they are due. */
class Stepper {
  private readonly engine: Engine;
  private readonly mix: Mix;
  private readonly outcomes: Mutable<Outcome>[];
  private readonly due = new Map<number, number>(); // steps until the abort
  private steps = 0;

  constructor(engine: Engine, mix: Mix, outcomes: Mutable<Outcome>[]) {
    this.engine = engine;
    this.mix = mix;
    this.outcomes = outcomes;
  }

  added(id: number): void {
    const after = this.mix.arrivals[id]?.abortAfter;
    if (after !== undefined) this.due.set(id, after);
  }

  step(waitMs: number): boolean {
    for (const [id, left] of this.due) {
      this.due.set(id, left - 1);
      if (left > 0) continue;
      this.due.delete(id);
      this.abort(id);
    }
    if (this.steps++ > STEPS_MAX) throw new Error("the engine does not come to an end");
    return this.engine.step(waitMs) !== "idle";
  }

  private abort(id: number): void {
    const outcome = this.outcomes[id];
    if (outcome === undefined || outcome.usage !== undefined || outcome.error !== undefined) return;
    this.engine.abort(id); // whose last event says how far it came
    outcome.isAborted = true;
  }

  drain(): void {
    while (this.step(5));
  }
}

function note(outcome: Mutable<Outcome> | undefined, event: RunEvent): void {
  if (outcome === undefined) throw new Error("an event has a run");
  if (outcome.isAborted) throw new Error("nothing comes after an abort");
  if (outcome.usage !== undefined || outcome.error !== undefined)
    throw new Error("nothing comes after the end");
  if (event.type === "error") outcome.error = event.error;
  if (event.type === "finish") outcome.usage = event.usage;
  const answer = "choice" in event ? outcome.answers[event.choice] : undefined;
  if (answer !== undefined) take(answer, event);
}

/** How an outcome differs from the same request's alone; undefined: not at all. */
export function differenceOf(got: Outcome, wanted: Outcome): string | undefined {
  if (got.isAborted) return got.answers.map((answer, i) => beyond(answer, wanted.answers[i])).find(Boolean);
  const one = textOf(got);
  const other = textOf(wanted);
  if (one === other) return undefined;
  let at = 0;
  while (one[at] === other[at]) at++;
  const from = Math.max(0, at - 120);
  return `…${one.slice(from, at + 80)}… instead of …${other.slice(from, at + 80)}…`;
}

/** What is reported of tokens in the cache depends on what was asked before. */
function textOf({ answers, usage, error }: Outcome): string {
  const counts = usage === undefined ? undefined : { ...usage, cachedTokens: 0 };
  return JSON.stringify({ answers, counts, error }).replaceAll(/"call_\w+"/g, "ID");
}

/** Of an aborted answer, what the whole one does not begin with. */
function beyond(part: Answer, whole: Answer | undefined): string | undefined {
  if (whole === undefined) return "another number of choices";
  for (const key of ["text", "reasoning"] as const)
    if (!whole[key].startsWith(part[key])) return `${key}: ${part[key]} instead of ${whole[key]}`;
  const tokens = part.logprobs.findIndex(
    (one, i) => JSON.stringify(one) !== JSON.stringify(whole.logprobs[i]),
  );
  return tokens < 0 ? undefined : `log probabilities from token ${tokens} on`;
}
