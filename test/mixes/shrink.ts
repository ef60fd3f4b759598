// Makes a failing mix smaller: fewer requests, plainer ones, while it still fails.

import { DEFAULT_SAMPLING } from "../../src/core/sampling.ts";
import type { RunRequest } from "../../src/core/run.ts";
import type { Arrival, Mix } from "./mix.ts";

/** What is wrong with a mix; undefined: nothing. */
export type Judge = (mix: Mix) => string | undefined;

interface Failing {
  readonly mix: Mix;
  readonly verdict: string | undefined;
}

/** Leaves a member out. */
function without(name: string): <T extends object>(whole: T) => T {
  return (whole) => Object.fromEntries(Object.entries(whole).filter(([key]) => key !== name)) as typeof whole; // optional ones only
}

/** Plainer forms of a request, one change each. */
const PLAINER: readonly ((request: RunRequest) => RunRequest)[] = [
  without("logprobs"),
  without("ignoreEnd"),
  without("constraint"),
  (request) => ({ ...request, stop: [] }),
  (request) => ({ ...request, choices: 1 }),
  (request) => ({ ...request, maxTokens: Math.ceil((request.maxTokens ?? 2) / 2) }),
  (request) => ({ ...request, sampling: { ...request.sampling, temperature: 0 } }),
  ...(
    [
      "dry",
      "logitBias",
      "topP",
      "topK",
      "minP",
      "presencePenalty",
      "frequencyPenalty",
      "repetitionPenalty",
    ] as const
  ).map((name) => (request: RunRequest) => ({
    ...request,
    sampling: { ...request.sampling, [name]: DEFAULT_SAMPLING[name] },
  })),
];

/** Plainer forms of the mix itself. */
const CALMER: readonly ((mix: Mix) => Mix)[] = [
  without("swapBefore"),
  (mix) => ({ ...mix, multiStepMs: 0 }),
  (mix) => ({ ...mix, prefixCacheN: 0 }),
  (mix) => ({ ...mix, clockMs: 1 }),
  (mix) => ({ ...mix, followMs: 0 }),
];

/** The smallest mix found that fails; the mix itself, without a verdict, where it does not fail when run again. */
export function smallest(mix: Mix, judge: Judge): Failing {
  let failing: Failing = { mix, verdict: judge(mix) };
  if (failing.verdict === undefined) return failing;
  for (let before = ""; before !== JSON.stringify(failing.mix);) {
    before = JSON.stringify(failing.mix);
    for (const smaller of smallerMixes(failing.mix)) {
      const candidate = smaller(failing.mix);
      if (candidate === undefined || JSON.stringify(candidate) === JSON.stringify(failing.mix)) continue;
      const verdict = judge(candidate);
      if (verdict !== undefined) failing = { mix: candidate, verdict };
    }
  }
  return failing;
}

type Smaller = (mix: Mix) => Mix | undefined;

/** One change each; a place that is no longer there changes nothing. */
function smallerMixes({ arrivals }: Mix): readonly Smaller[] {
  const fewer: Smaller[] = arrivals.map((arrival) => (mix) => {
    const left = mix.arrivals.filter((other) => other !== arrival);
    return left.length === 0 ? undefined : { ...mix, arrivals: left };
  });
  const plainer = arrivals.flatMap((_, i) =>
    [
      ...PLAINER.map((change) => (arrival: Arrival) => ({
        ...arrival,
        ask: { ...arrival.ask, request: change(arrival.ask.request) },
      })),
      (arrival: Arrival) => ({ ...arrival, ask: { ...arrival.ask, adapter: 0 } }),
      without("abortAfter"),
      (arrival: Arrival) => ({ ...arrival, steps: Math.floor(arrival.steps / 2) }),
    ].map(
      (change): Smaller =>
        (mix) =>
          i < mix.arrivals.length
            ? { ...mix, arrivals: mix.arrivals.map((arrival, at) => (at === i ? change(arrival) : arrival)) }
            : undefined,
    ),
  );
  return [...fewer, ...CALMER, ...plainer];
}
