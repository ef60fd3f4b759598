import { expect, test } from "bun:test";
import { Fingerprint } from "../../../src/worker/text/fingerprint.ts";
import { DEFAULT_SAMPLING } from "../../../src/core/sampling.ts";
import { request } from "../../helpers/world.ts";

const START = {
  identity: "model",
  request: request([1, 2, 3], { maxTokens: 4, sampling: { ...DEFAULT_SAMPLING, temperature: 1 } }),
  seed: 1,
  choice: 0,
  tokens: Int32Array.of(1, 2, 3),
};
const DRAWN = [
  [7, -0.5],
  [8, -1.25],
] as const;

function digest(start: typeof START, drawn: readonly (readonly [number, number])[] = DRAWN): string {
  const fingerprint = new Fingerprint(start);
  for (const [token, logprob] of drawn) fingerprint.add(token, logprob);
  return fingerprint.digest();
}

const [sampled, last] = DRAWN;

test.each([
  ["identity", { ...START, identity: "another model" }, DRAWN],
  ["seed", { ...START, seed: 2 }, DRAWN],
  ["choice", { ...START, choice: 1 }, DRAWN],
  ["prompt", { ...START, tokens: Int32Array.of(1, 2, 4) }, DRAWN],
  ["stop", { ...START, request: { ...START.request, stop: ["x"] } }, DRAWN],
  ["cap", { ...START, request: { ...START.request, maxTokens: 5 } }, DRAWN],
  ["token", START, [sampled, [9, -1.25]]],
  ["last bit of a log probability", START, [sampled, [8, -1.25 - 2 ** -23]]],
  ["length", START, [sampled]],
  ["order", START, [last, sampled]],
] as const)("another %s changes the fingerprint", (_, start, drawn) => {
  expect(digest(START)).toBe(digest(START));
  expect(digest(start, drawn)).not.toBe(digest(START));
});

test.each([{ temperature: 0 }, { topK: 1 }])(
  "where nothing is drawn (%j), the seed changes nothing",
  (sampling) => {
    const greedy = { ...START.request, sampling: { ...START.request.sampling, ...sampling } };
    expect(digest({ ...START, request: greedy, seed: 2 })).toBe(digest({ ...START, request: greedy }));
  },
);
