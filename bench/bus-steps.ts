// Steps of the engine for bus.ts: what a step waits for and rebuilds, how long the device has nothing to do between two passes, and how long
// a call takes that begins a pass.

import type { LlamaBackend } from "../ffi/llama/llama.ts";
import { itemAt } from "../src/core/assert.ts";
import type { RunRequest } from "../src/core/run.ts";
import { DEFAULT_SAMPLING } from "../src/core/sampling.ts";
import { Engine } from "../src/worker/text/engine.ts";
import { Outbox } from "../src/worker/text/outbox.ts";

/** Counts of one kind of work, each per step. */
export interface EngineRow {
  readonly test: string;
  /** Whether the engine works while a pass goes on. */
  readonly goesOn: boolean;
  readonly steps: number;
  readonly waits: number;
  readonly graphs: number;
  /** Part of the passes that used the graph of the one before. */
  readonly reused: number;
  /** Milliseconds between the calls that compute graphs: on the CPU, all that is no computation. */
  readonly hostMs: number;
  /** Milliseconds from the tokens of a pass to the call that begins the next one. */
  readonly idleMs: number;
  /** Milliseconds of that call; on the CPU, it computes the pass. */
  readonly beginMs: number;
}

const PROMPT_TOKENS = 32;
const ANSWER_TOKENS = 32;
const LONG_PROMPT_TOKENS = 24_000;
/** Requests that come and go, and how many of them run at once. */
const REQUESTS = 32;
const AT_ONCE = 8;
/** Steps of the first prompts, which are not counted. */
const FIRST_STEPS = 6;

function request(seed: number, tokens: number, maxTokens: number): RunRequest {
  return {
    model: "default",
    prompt: {
      type: "tokens",
      tokens: Array.from({ length: tokens }, (_, i) => 300 + ((i * 31 + seed) % 900)),
    },
    sampling: { ...DEFAULT_SAMPLING, topK: 40, topP: 0.95, temperature: 0.8, seed },
    stop: [],
    maxTokens,
    choices: 1,
    truncate: false,
    ignoreEnd: true,
  };
}

interface Timed {
  readonly backend: LlamaBackend;
  idleMs: number;
  beginMs: number;
  passes: number;
}

/** The backend with a clock between its passes. */
function timed(backend: LlamaBackend, goesOn: boolean): Timed {
  let overAt: number | undefined;
  const out: Timed = {
    backend: Object.create(backend, {
      goesOn: { value: goesOn && backend.goesOn },
      decode: {
        value: (...args: Parameters<LlamaBackend["decode"]>) => {
          const from = performance.now();
          if (overAt !== undefined) out.idleMs += from - overAt;
          overAt = undefined;
          const outcome = backend.decode(...args);
          out.beginMs += performance.now() - from;
          out.passes++;
          return outcome;
        },
      },
      sample: {
        value: (...args: Parameters<LlamaBackend["sample"]>) => {
          backend.sample(...args);
          overAt = performance.now();
        },
      },
    }),
    idleMs: 0,
    beginMs: 0,
    passes: 0,
  };
  return out;
}

/** Computes requests, at most `atOnce` at a time, and counts from the step `skip` on. */
function counted(
  { backend, counts, goesOn, test }: Subject,
  requests: readonly RunRequest[],
  { atOnce, skip }: { readonly atOnce: number; readonly skip: number },
): EngineRow {
  const one = timed(backend, goesOn);
  const outbox = new Outbox();
  let running = 0;
  const engine = new Engine({
    backend: one.backend,
    constraints: () => {
      throw new Error("no request has a grammar");
    },
    prefixCacheN: 0,
    emit: (run, event) => {
      outbox.add(run, event);
      if (event.type === "finish") running--;
    },
    now: () => performance.now(),
    newSeed: () => 1,
  });
  let reused = 0;
  let id = 0;
  for (let step = 0; ; step++) {
    for (; running < atOnce && id < requests.length; running++) engine.add(id, itemAt(requests, id++));
    if (step === skip) {
      counts();
      [one.idleMs, one.beginMs, one.passes] = [0, 0, 0];
      reused = backend.traffic().reusedGraphs;
    }
    if (engine.step(5) === "idle") break;
    if (!outbox.isEmpty) JSON.stringify(outbox.take()); // as for the serving process
  }
  const { passes, idleMs, beginMs } = one;
  const [waits = 0, , , , graphs = 0, hostUs = 0] = counts().map((count) => count / passes);
  const again = (backend.traffic().reusedGraphs - reused) / passes;
  engine.close();
  return {
    test,
    goesOn: one.backend.goesOn,
    steps: passes,
    waits,
    graphs,
    reused: again,
    hostMs: hostUs / 1000,
    idleMs: idleMs / passes,
    beginMs: beginMs / passes,
  };
}

interface Subject {
  readonly backend: LlamaBackend;
  readonly counts: () => readonly number[];
  readonly goesOn: boolean;
  readonly test: string;
}

/** Rows with and without passes that go on. */
export function engineSteps(
  backend: LlamaBackend,
  counts: () => readonly number[],
  rowCounts: readonly number[],
): readonly EngineRow[] {
  const rows: EngineRow[] = [];
  const both = (test: string, requests: readonly RunRequest[], atOnce: number, skip: number): void => {
    for (const goesOn of backend.goesOn ? [false, true] : [false])
      rows.push(counted({ backend, counts, goesOn, test }, requests, { atOnce, skip }));
  };
  for (const n of rowCounts) {
    const all = Array.from({ length: n }, (_, seed) => request(seed, PROMPT_TOKENS, ANSWER_TOKENS));
    both(`${n} streams`, all, n, FIRST_STEPS);
  }
  const coming = Array.from({ length: REQUESTS }, (_, i) =>
    request(i, PROMPT_TOKENS, 16 + ((i * 37) % ANSWER_TOKENS)),
  );
  both(`${AT_ONCE} streams that come and go`, coming, AT_ONCE, FIRST_STEPS);
  both(`a prompt of ${LONG_PROMPT_TOKENS} tokens`, [request(0, LONG_PROMPT_TOKENS, 1)], 1, 0);
  return rows;
}
