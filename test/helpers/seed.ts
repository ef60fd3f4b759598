// Randomness of tests. A run of all tests has the same random inputs as the one before: a new one may send the parser of a package into a
// circle that no time limit of its own process ends. SVC_SLOW_TESTS=1 has fresh inputs, SVC_SEED states the seed. bunfig.toml
// preloads this file, for fast-check's properties.

import fc from "fast-check";

const stated = process.env["SVC_SEED"];
const SEED = stated === undefined && process.env["SVC_SLOW_TESTS"] === "1" ? undefined : Number(stated ?? 1);

if (SEED !== undefined) fc.configureGlobal({ seed: SEED });

/** The seed of this run. Tests print it, so that a failure can be had again. */
export function seedOfRun(): number {
  const seed = SEED ?? Math.floor(Math.random() * 2 ** 31);
  console.log(`SVC_SEED=${seed}`);
  return seed;
}

/** Numbers in [0, 1) that follow from the seed alone: mulberry32. */
export function randomOf(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d_2b_79_f5) | 0;
    let t = Math.imul(state ^ (state >>> 15), 1 | state);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32;
  };
}
