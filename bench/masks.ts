// Cost of constraint masks for a vocabulary:  bun bench/masks.ts MODEL.gguf [THREADS]
// A vocabulary-only GGUF suffices. Walks each schema with random tokens and times every mask.

import { performance } from "node:perf_hooks";
import { join } from "node:path";
import { unpackGrammar, unpackLibraries } from "../ffi/embedded.ts";
import { GrammarEngine } from "../ffi/grammar.ts";
import { openGrammar, openNative } from "../ffi/library.ts";
import type { Constraint } from "../src/core/constraint.ts";
import type { Matcher } from "../src/worker/text/constraint-backend.ts";
import {
  allowedTokens,
  compile,
  loadVocabulary,
  randomBelow,
  type TestVocabulary,
} from "../test/helpers/grammar.ts";

const CACHE = join(import.meta.dir, ".cache/masks");
const ROWS = 32;
const STEPS = 200;
const CLOSING = /^["}\]]/;

const PERSON = {
  type: "object",
  properties: {
    name: { type: "string" },
    nick: { type: "string", maxLength: 40 },
    age: { type: "integer", minimum: 0, maximum: 150 },
    mail: { type: "string", format: "email" },
    tags: { type: "array", items: { type: "string", pattern: "^[a-z]{2,8}$" }, maxItems: 5 },
    address: {
      type: "object",
      properties: { street: { type: "string" }, zip: { type: "string", pattern: "^\\d{5}$" } },
      required: ["street", "zip"],
      additionalProperties: false,
    },
  },
  required: ["name", "age", "tags", "address"],
  additionalProperties: false,
};

const CONSTRAINTS: Readonly<Record<string, Constraint>> = {
  person: { type: "json_schema", schema: PERSON },
  "any object": { type: "json_schema", schema: { type: "object" } },
  "list of persons": { type: "json_schema", schema: { type: "array", items: PERSON, minItems: 20 } },
  "regular expression": { type: "regex", pattern: "(\\w{3,12} ){200}" },
  "Lark calculator": {
    type: "lark",
    grammar:
      'start: sum\nsum: prod (/[+-]/ prod)*\nprod: atom (/[*\\/]/ atom)*\natom: /[0-9]+/ | "(" sum ")"',
  },
};

function quantiles(times: readonly number[]): string {
  const sorted = [...times].sort((a, b) => a - b);
  const at = (share: number): string =>
    (1000 * (sorted[Math.min(sorted.length - 1, Math.floor(share * sorted.length))] ?? 0))
      .toFixed(0)
      .padStart(6);
  return `p50 ${at(0.5)}  p99 ${at(0.99)}  max ${at(1)} us`;
}

function timed<T>(times: number[], action: () => T): T {
  const start = performance.now();
  const result = action();
  times.push(performance.now() - start);
  return result;
}

/** Next token of a random answer with strings of limited length; undefined at its end. */
function draw(
  matcher: Matcher,
  vocabulary: TestVocabulary,
  below: (n: number) => number,
): number | undefined {
  const inside = allowedTokens(matcher.mask).filter((token) => ((vocabulary.flags[token] ?? 0) & 1) === 0);
  if (below(8) > 0) return inside[below(inside.length)];
  const closing = inside.filter((token) =>
    CLOSING.test(Buffer.from(vocabulary.texts[token] ?? []).toString("latin1")),
  );
  return closing[below(closing.length)] ?? inside[below(inside.length)];
}

function follow(matcher: Matcher, vocabulary: TestVocabulary): { masks: number[]; accepts: number[] } {
  const below = randomBelow(7);
  const masks: number[] = [];
  const accepts: number[] = [];
  let place = matcher.clone();
  for (let step = 0; step < STEPS; step++) {
    timed(masks, () => place.computeMask());
    const token = draw(place, vocabulary, below);
    if (token !== undefined) {
      timed(accepts, () => place.accept(token));
      continue;
    }
    place.free();
    place = matcher.clone();
  }
  place.free();
  return { masks, accepts };
}

/** Masks of many rows in different states, on the engine's threads. */
function batch(engine: GrammarEngine, matcher: Matcher, vocabulary: TestVocabulary): number[] {
  const rows = Array.from({ length: ROWS }, (_, row) => ({
    matcher: matcher.clone(),
    below: randomBelow(row),
  }));
  const times: number[] = [];
  for (let step = 0; step < STEPS / 4; step++) {
    timed(times, () => {
      engine.masksBegin(rows.map((row) => row.matcher));
      engine.masksWait();
    });
    for (const row of rows) {
      const token = draw(row.matcher, vocabulary, row.below);
      if (token !== undefined) {
        row.matcher.accept(token);
        continue;
      }
      row.matcher.free();
      row.matcher = matcher.clone();
    }
  }
  for (const row of rows) row.matcher.free();
  return times;
}

function main(): void {
  const [path, threads] = process.argv.slice(2);
  if (path === undefined) throw new Error("usage: bun bench/masks.ts MODEL.gguf [THREADS]");
  const vocabulary = loadVocabulary(path, openNative(unpackLibraries(CACHE), 0));
  const library = openGrammar(unpackGrammar(CACHE));
  const start = performance.now();
  const engine = new GrammarEngine(library, vocabulary, Number(threads ?? 1));
  const opened = performance.now();
  compile(engine, { type: "regex", pattern: "a" }).free();
  const built = performance.now();
  console.log(
    `${vocabulary.size} tokens: open ${(opened - start).toFixed(0)} ms, lookup ${(built - opened).toFixed(0)} ms beside`,
  );
  for (const [name, constraint] of Object.entries(CONSTRAINTS)) {
    const compiles: number[] = [];
    const matcher = timed(compiles, () => compile(engine, constraint));
    timed(compiles, () => compile(engine, constraint)).free();
    const [cold = 0, warm = 0] = compiles;
    const { masks, accepts } = follow(matcher, vocabulary);
    console.log(`\n${name}: compile ${cold.toFixed(1)} ms, again ${warm.toFixed(2)} ms`);
    console.log(`  mask          ${quantiles(masks)}`);
    console.log(`  accept        ${quantiles(accepts)}`);
    console.log(`  ${ROWS} masks      ${quantiles(batch(engine, matcher, vocabulary))}`);
    matcher.free();
  }
  engine.close();
}

main();
