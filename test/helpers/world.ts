// The real engine over the fake backend, with a recorder of each run's events.

import { expect } from "bun:test";
import type { RunEvent, RunRequest } from "../../src/core/run.ts";
import { DEFAULT_SAMPLING } from "../../src/core/sampling.ts";
import type { Backend } from "../../src/worker/text/backend.ts";
import { Engine, type EngineDeps } from "../../src/worker/text/engine.ts";
import type { CacheTiers } from "../../src/worker/text/tiers/tiers.ts";
import type { FakeGrammar } from "./fake-grammar.ts";
import { EOG, FakeBackend, type FakeOptions, noConstraints } from "./fake-backend.ts";

/** A small engine. */
export const OPTIONS: FakeOptions = {
  maxSeqs: 8,
  slots: 12,
  cells: 512,
  batch: 64,
  ubatch: 32,
  contextTokens: 256,
  eogOneIn: 40,
};

/** mulberry32: small, seeded, good enough to make traffic. */
export function random(seed: number): () => number {
  let a = seed;
  return () => {
    a = (a + 0x6d2b79f5) | 0;
    let t = Math.imul(a ^ (a >>> 15), 1 | a);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32;
  };
}

/** Continues these tokens. */
export function request(tokens: readonly number[], extra: Partial<RunRequest> = {}): RunRequest {
  return {
    model: "default",
    prompt: { type: "tokens", tokens },
    sampling: { ...DEFAULT_SAMPLING, temperature: 0, seed: 1 }, // above 0, a seed has no drafts
    stop: [],
    choices: 1,
    truncate: false,
    ...extra,
  };
}

/** Records the events of a run and checks their order. */
export class Witness {
  text = "";
  accepted = 0;
  /** Tokens with a log probability. */
  scored = 0;
  /** The stop string of the choice that ended last. */
  stop: string | undefined;
  ended: RunEvent | undefined;
  aborted = false;
  /** Computed and cached prompt tokens, as reported. */
  readonly prompts: [processed: number, cached: number][] = [];
  /** Requests before it in the queue, as reported. */
  readonly places: number[] = [];

  take(event: RunEvent): void {
    expect(this.ended).toBeUndefined(); // nothing after the end
    if (this.aborted) expect(event.type).toBe("finish"); // how far it came, and nothing else
    if (event.type === "prompt_progress") {
      expect(this.text).toBe("");
      if (event.ahead === undefined) this.prompts.push([event.processed, event.cached]);
      else this.places.push(event.ahead);
    }
    if (event.type === "accepted") this.accepted++;
    else if (event.type !== "error" && !this.aborted) expect(this.accepted).toBe(1);
    if (event.type === "text") {
      this.text += event.text;
      this.scored += event.logprobs?.length ?? 0;
    }
    if (event.type === "choice_end") this.stop = event.stop;
    if (event.type === "finish" || event.type === "error") this.ended = event;
  }
}

/** An engine with a fake clock: each reading advances it by 0.5 ms, plus what passes take, and a draft model: 0.1 ms a token. */
export class World {
  readonly backend: FakeBackend;
  readonly engine: Engine;
  readonly witnesses = new Map<number, Witness>();
  /** Milliseconds. */
  clock = 0;

  constructor(
    options: FakeOptions,
    {
      prefixCacheN = 4,
      prefillShare,
      drafts = "off",
      multiStepMs = 0,
      noKvCache = false,
      checkpointBytes = 1 << 20,
      tiers,
      grammar,
    }: Pick<
      Partial<EngineDeps>,
      "prefixCacheN" | "prefillShare" | "drafts" | "multiStepMs" | "noKvCache" | "checkpointBytes"
    > & { readonly tiers?: (backend: Backend) => CacheTiers; readonly grammar?: FakeGrammar } = {},
  ) {
    this.backend = new FakeBackend(options);
    this.engine = new Engine({
      backend: this.backend,
      constraints: grammar === undefined ? noConstraints : () => grammar,
      prefixCacheN,
      prefillShare,
      drafts,
      multiStepMs,
      noKvCache,
      checkpointBytes,
      tiers: tiers?.(this.backend),
      emit: (run, event) => this.witness(run).take(event),
      now: () => (this.clock += 0.5 + this.backend.takeTime() + (grammar?.takeTime() ?? 0)),
      newSeed: () => 1,
    });
  }

  witness(id: number): Witness {
    const known = this.witnesses.get(id);
    if (known !== undefined) return known;
    const fresh = new Witness();
    this.witnesses.set(id, fresh);
    return fresh;
  }

  add(id: number, what: RunRequest, adapter?: number, scope?: string): void {
    this.witness(id);
    this.engine.add(id, what, adapter, scope);
  }

  abort(id: number): void {
    const witness = this.witness(id);
    witness.aborted = true;
    this.engine.abort(id);
    expect(witness.ended).toBeDefined();
  }

  /** One step, before which one of the first `count` runs is aborted, with this probability. */
  stepAmongAborts(chance: () => number, count: number, probability: number): void {
    if (count > 0 && chance() < probability) {
      const victim = Math.floor(chance() * count);
      if (this.witness(victim).ended === undefined) this.abort(victim);
    }
    this.engine.step(0);
    expect(this.backend.usedCells).toBeLessThanOrEqual(this.backend.cells);
  }

  /** Steps until the engine is idle; bounded, so that an endless loop fails. */
  drain(): void {
    for (let i = 0; i < 200_000; i++) if (this.engine.step(0) === "idle") return;
    throw new Error("the engine does not become idle");
  }

  expectEmpty(): void {
    expect(this.engine.runningCount).toBe(0);
    const { waiting, running, cellsRunning, cellsKept } = this.engine.stats();
    expect([waiting, running, cellsRunning]).toEqual([0, 0, 0]);
    expect(cellsKept).toBe(this.backend.usedCells);
    expect(this.engine.cache.availableCells).toBe(this.backend.cells);
    this.engine.cache.dropAll();
    expect(this.engine.cache.availableSlots).toBe(this.backend.slots);
    expect(this.backend.usedCells).toBe(0);
    expect(this.backend.openPrompts).toBe(0);
    expect(this.backend.openSamplers).toBe(0);
    expect(this.engine.pendingEncodings).toBe(0);
  }
}

/** The answer by the definition of the fake model, without any engine. */
export function expectedText(
  backend: FakeBackend,
  prompt: readonly number[],
  cap: number,
  adapter?: number,
): { text: string; reason: string } {
  const tokens = [...prompt];
  let text = "";
  for (let n = 0; n < cap; n++) {
    const next = backend.next(tokens, adapter);
    if (next === EOG) return { text, reason: "stop" };
    tokens.push(next);
    text += String.fromCharCode(next);
  }
  return { text, reason: "length" };
}
