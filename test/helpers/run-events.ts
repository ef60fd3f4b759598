// Fixed runs and fake generate functions for tests of dialects and HTTP.

import type {
  FinishReason,
  Generate,
  RunEvent,
  RunRequest,
  Timings,
  TokenLogprob,
  Usage,
} from "../../src/core/run.ts";

const USAGE: Usage = { promptTokens: 12, cachedTokens: 4, completionTokens: 8, reasoningTokens: 2 };
const TIMINGS: Timings = { promptSecs: 0.5, completionSecs: 2 };

export const ACCEPTED: RunEvent = { type: "accepted", promptTokens: 12 };
export const FINISH: RunEvent = { type: "finish", usage: USAGE, timings: TIMINGS };

/** A text delta, by default of the first choice. */
export function text(piece: string, choice = 0): RunEvent {
  return { type: "text", choice, text: piece };
}

/** A sampled token, with alternatives as [text, logprob]. */
export function logprob(
  piece: string,
  chance: number,
  ...top: readonly (readonly [string, number])[]
): TokenLogprob {
  return { ...token(piece, chance), top: top.map(([other, likely]) => token(other, likely)) };
}

function token(piece: string, chance: number) {
  return { token: piece.length, text: piece, bytes: [...new TextEncoder().encode(piece)], logprob: chance };
}

/** The end of a choice. */
export function end(reason: FinishReason = "stop", choice = 0): Extract<RunEvent, { type: "choice_end" }> {
  return { type: "choice_end", choice, reason };
}

/** A successful run with the given text deltas. */
export function answer(...pieces: readonly string[]): readonly RunEvent[] {
  return [ACCEPTED, ...pieces.map((piece) => text(piece)), end(), FINISH];
}

/** A generate function that yields the same events for every request and records the requests. */
export function playing(events: readonly RunEvent[]): { generate: Generate; requests: RunRequest[] } {
  const requests: RunRequest[] = [];
  async function* generate(request: RunRequest): AsyncGenerator<RunEvent> {
    requests.push(request);
    yield* events;
  }
  return { generate, requests };
}

/** A run controlled by the test. */
export interface HandRun {
  readonly request: RunRequest;
  readonly signal: AbortSignal;
  /** Delivers events to the reader. */
  emit(...events: readonly RunEvent[]): void;
  /** Makes the iterator throw. */
  fail(error: Error): void;
  /** Makes the iterator end. */
  stop(): void;
  /** Number of events that the reader has consumed. */
  taken(): number;
  /** Resolves when the reader has closed the iterator. */
  readonly closed: Promise<void>;
}

/** A generate function whose runs the test controls; `next` resolves with the next started run. */
export function byHand(): { generate: Generate; next(): Promise<HandRun> } {
  const started: HandRun[] = [];
  const waiting: ((run: HandRun) => void)[] = [];
  const generate: Generate = (request, signal) => {
    const queue: (RunEvent | Error | "stop")[] = [];
    let wake: () => void = () => {};
    let taken = 0;
    const closed = Promise.withResolvers<void>();
    const put = (...items: readonly (RunEvent | Error | "stop")[]) => {
      queue.push(...items);
      wake();
    };
    signal.addEventListener("abort", () => wake());
    const run: HandRun = {
      request,
      signal,
      emit: put,
      fail: put,
      stop: () => put("stop"),
      taken: () => taken,
      closed: closed.promise,
    };
    const waiter = waiting.shift();
    if (waiter === undefined) started.push(run);
    else waiter(run);
    return (async function* () {
      try {
        for (;;) {
          if (signal.aborted) return;
          const item = queue.shift();
          if (item instanceof Error) throw item;
          if (item === "stop") return;
          if (item === undefined) {
            await new Promise<void>((resolve) => (wake = resolve));
            continue;
          }
          taken++;
          yield item;
          if (item.type === "finish" || item.type === "error") return;
        }
      } finally {
        closed.resolve();
      }
    })();
  };
  const next = () => {
    const run = started.shift();
    if (run !== undefined) return Promise.resolve(run);
    return new Promise<HandRun>((resolve) => waiting.push(resolve));
  };
  return { generate, next };
}
