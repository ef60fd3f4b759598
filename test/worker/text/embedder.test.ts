// Texts to vectors: batches, pieces, order, limits and ends, on a backend without a model.

import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { ServiceError } from "../../../src/core/error.ts";
import type { Pooling } from "../../../src/worker/text/embed-backend.ts";
import { Embedder, type EmbedOutcome } from "../../../src/worker/text/embedder.ts";
import {
  codesOf,
  expectedVector,
  expectedScore,
  FakeEmbedBackend,
  type FakeEmbedOptions,
} from "../../helpers/fake-embed-backend.ts";

type Input = string | readonly number[];

interface Bench {
  readonly backend: FakeEmbedBackend;
  readonly embedder: Embedder;
  /** Ids in the order in which they ended. */
  readonly order: number[];
  /** What a request has come to; fails the test if it has not ended. */
  outcome(id: number): EmbedOutcome["result"];
  /** The vectors of a request that has succeeded. */
  vectors(id: number): readonly Float32Array[];
  add(id: number, inputs: readonly Input[], truncate?: boolean): void;
  /** Steps until there is nothing to do. */
  run(): void;
}

function bench(options: FakeEmbedOptions = {}): Bench {
  const backend = new FakeEmbedBackend(options);
  const results = new Map<number, EmbedOutcome["result"]>();
  const order: number[] = [];
  const embedder = new Embedder(
    () => backend,
    ({ id, result }) => {
      if (results.has(id)) throw new Error(`request ${id} ended twice`);
      order.push(id);
      results.set(id, result);
    },
  );
  const outcome = (id: number): EmbedOutcome["result"] => {
    const result = results.get(id);
    if (result === undefined) throw new Error(`request ${id} has not ended`);
    return result;
  };
  return {
    backend,
    embedder,
    order,
    outcome,
    vectors: (id) => {
      const result = outcome(id);
      if (result instanceof ServiceError) throw result;
      return result.vectors;
    },
    add: (id, inputs, truncate = false) => embedder.add(id, { model: "default", inputs, truncate }),
    run: () => {
      while (embedder.step(0));
    },
  };
}

function tokensOf(input: Input): readonly number[] {
  return typeof input === "string" ? codesOf(input) : input;
}

/** Compares with the reference, up to rounding. */
function expectVectors(vectors: readonly Float32Array[], inputs: readonly Input[], pooling: Pooling): void {
  expect(vectors).toHaveLength(inputs.length);
  inputs.forEach((input, index) => {
    const expected = expectedVector(tokensOf(input), pooling);
    expected.forEach((value, i) => expect(vectors[index]?.[i]).toBeCloseTo(value, 5));
  });
}

const POOLINGS = ["mean", "cls", "last"] as const;

describe("batches", () => {
  test("many inputs share one, and each vector is of its own input", () => {
    const { backend, vectors, outcome, add, run } = bench({ slots: 4, batch: 16 });
    const inputs = ["abc", "de", [1, 2, 3], "f"];
    add(1, inputs);
    run();
    expect(backend.decodes).toEqual([{ rows: 9, slots: 4 }]);
    expectVectors(vectors(1), inputs, "mean");
    expect(outcome(1)).toMatchObject({ promptTokens: 9 });
    expect(backend.usedSlots).toBe(0);
    expect(backend.openPrompts).toBe(0);
  });

  test("there are never more inputs in one than slots", () => {
    const { backend, vectors, add, run } = bench({ slots: 2 });
    const inputs = ["a", "b", "c", "d", "e"];
    add(1, inputs);
    run();
    expect(backend.decodes.map(({ slots }) => slots)).toEqual([2, 2, 1]);
    expectVectors(vectors(1), inputs, "mean");
  });

  test("inputs of different requests share one", () => {
    const { backend, vectors, add, run } = bench();
    add(1, ["abc"]);
    add(2, ["de", "f"]);
    run();
    expect(backend.decodes).toEqual([{ rows: 6, slots: 3 }]);
    expectVectors(vectors(1), ["abc"], "mean");
    expectVectors(vectors(2), ["de", "f"], "mean");
  });

  test("a long list of texts does not make a short one wait for its end", () => {
    const { order, backend, embedder, add, run } = bench({ slots: 2, batch: 8 });
    add(1, Array<string>(20).fill("abcd"));
    expect(embedder.step(0)).toBe(true);
    add(2, ["xy"]);
    run();
    expect(order).toEqual([2, 1]);
    expect(backend.decodes.length).toBeLessThanOrEqual(12);
  });
});

describe.each(POOLINGS)("an input longer than a batch, %s pooling", (pooling) => {
  test("is computed in pieces, and what follows fills the rest of the last one", () => {
    const { backend, vectors, add, run } = bench({ batch: 8, pooling });
    const inputs = ["abcdefghijklmnopqrst", "uvw", "x"];
    add(1, inputs);
    run();
    expect(backend.decodes).toEqual([
      { rows: 8, slots: 1 },
      { rows: 8, slots: 1 },
      { rows: 8, slots: 3 },
    ]);
    expectVectors(vectors(1), inputs, pooling);
    expect(backend.usedSlots).toBe(0);
  });
});

describe("a model that sees a whole input at once", () => {
  test("gets none in pieces: what does not fit waits for the next batch", () => {
    const { backend, vectors, add, run } = bench({ causal: false, batch: 8, contextTokens: 8 });
    const inputs = ["abcde", "fghi", "jkl", "mnopqrst"];
    add(1, inputs);
    run();
    expect(backend.decodes).toEqual([
      { rows: 5, slots: 1 },
      { rows: 7, slots: 2 },
      { rows: 8, slots: 1 },
    ]);
    expectVectors(vectors(1), inputs, "mean");
  });
});

describe("inputs that are too long", () => {
  test("are refused with their place, both numbers and the way out; nothing is left behind", () => {
    const { backend, outcome, vectors, add, run } = bench({ contextTokens: 4 });
    add(1, ["abc", "abcde", "ab"]);
    add(2, ["abcd"]);
    add(3, ["abcdef"]);
    run();
    expect(outcome(1)).toMatchObject({
      code: "context_length_exceeded",
      param: "input[1]",
      message: expect.stringMatching(/5 tokens.*at most 4.*truncate_sequence/s),
    });
    expect(outcome(3)).toMatchObject({ code: "context_length_exceeded", param: "input" });
    expectVectors(vectors(2), ["abcd"], "mean");
    expect(backend.openPrompts).toBe(0);
    expect(backend.usedSlots).toBe(0);
  });

  test("lose their end where that is allowed, and only what is left counts", () => {
    const { outcome, vectors, add, run } = bench({ contextTokens: 4 });
    add(1, ["abcdefgh", "xy"], true);
    run();
    expectVectors(vectors(1), ["abcd", "xy"], "mean");
    expect(outcome(1)).toMatchObject({ promptTokens: 6 });
  });

  test("an empty one is refused too", () => {
    const { outcome, add, run } = bench();
    add(1, ["a", ""]);
    run();
    expect(outcome(1)).toMatchObject({ code: "invalid_request", param: "input[1]" });
  });
});

describe("a request that is dropped", () => {
  test("while it is tokenized: nothing is computed and nothing left", () => {
    const { backend, embedder, order, add, run } = bench({ looks: 3 });
    add(1, ["abc", "def"]);
    expect(embedder.step(0)).toBe(true);
    embedder.abort(1);
    run();
    expect(order).toEqual([]);
    expect(backend.decodes).toEqual([]);
    expect(backend.openPrompts).toBe(0);
  });

  test("in the middle of an input: its slot is free, and others are not harmed", () => {
    const { backend, embedder, vectors, order, add, run } = bench({ batch: 4, pooling: "last" });
    add(1, ["abcdefghij"]);
    add(2, ["klmnopqrs"]);
    expect(embedder.step(0)).toBe(true);
    expect(backend.usedSlots).toBe(1);
    embedder.abort(1);
    expect(backend.usedSlots).toBe(0);
    run();
    expect(order).toEqual([2]);
    expectVectors(vectors(2), ["klmnopqrs"], "last");
  });

  test("that has ended or never was: nothing happens", () => {
    const { embedder, order, add, run } = bench();
    add(1, ["a"]);
    run();
    embedder.abort(1);
    embedder.abort(7);
    expect(embedder.step(0)).toBe(false);
    expect(order).toEqual([1]);
  });
});

describe("failures", () => {
  test("a batch that cannot be computed fails who is in it, and the next one is as if nothing had been", () => {
    const { backend, outcome, vectors, add, run } = bench({
      batch: 4,
      slots: 2,
      succeeds: (decode) => decode !== 1,
    });
    add(1, ["abcdef"]);
    add(2, ["gh", "ij"]);
    add(3, ["klm"]);
    run();
    expect(outcome(1)).toMatchObject({ code: "engine_failed" });
    expect(outcome(2)).toMatchObject({ code: "engine_failed" });
    expectVectors(vectors(3), ["klm"], "mean");
    expect(backend.usedSlots).toBe(0);
  });

  test("a model that gives no embeddings says so for each request", () => {
    const refusal = new ServiceError("unsupported_capability", "none");
    const results: EmbedOutcome[] = [];
    const refuse = () => {
      throw refusal;
    };
    const embedder = new Embedder(refuse, (outcome) => results.push(outcome));
    embedder.add(1, { model: "default", inputs: ["a"], truncate: false });
    embedder.add(2, { model: "default", inputs: ["b"], truncate: false });
    expect(embedder.step(0)).toBe(false);
    expect(results).toEqual([
      { id: 1, result: refusal },
      { id: 2, result: refusal },
    ]);
  });
});

test("whatever arrives together, every vector is that of its input alone", () => {
  const request = fc.array(fc.string({ minLength: 1, maxLength: 12 }), { minLength: 1, maxLength: 6 });
  const shape = fc.record({
    batch: fc.integer({ min: 1, max: 12 }),
    slots: fc.integer({ min: 1, max: 4 }),
    pooling: fc.constantFrom(...POOLINGS),
    looks: fc.integer({ min: 0, max: 2 }),
  });
  fc.assert(
    fc.property(fc.array(request, { minLength: 1, maxLength: 5 }), shape, (requests, options) => {
      const { backend, vectors, outcome, add, run } = bench({ ...options, contextTokens: 12 });
      requests.forEach((inputs, id) => add(id, inputs));
      run();
      requests.forEach((inputs, id) => {
        expectVectors(vectors(id), inputs, options.pooling);
        expect(outcome(id)).toMatchObject({ promptTokens: inputs.join("").length });
      });
      expect([backend.usedSlots, backend.openPrompts]).toEqual([0, 0]);
    }),
  );
});

test("scores of documents are those of each pair alone, when all of it was read", () => {
  const documents = ["a cat", "bread", "dogs and cats"];
  const { backend, embedder, vectors, run } = bench({ ranks: true, pooling: "last", batch: 8 });
  embedder.add(1, { model: "default", query: "cat:", documents, truncate: false });
  run();
  const scores = vectors(1).map((vector) => [...vector]);
  expect(scores).toEqual(documents.map((one) => [Math.fround(expectedScore(codesOf(`cat:${one}`)))]));
  expect(backend.usedSlots).toBe(0);
});

test("a request beyond its tokens is refused before it is computed; one that is aborted says how far it came", () => {
  const backend = new FakeEmbedBackend({ batch: 4, slots: 1 });
  const left: [id: number, tokens: number][] = [];
  const done: EmbedOutcome[] = [];
  const embedder = new Embedder(
    () => backend,
    (outcome) => void done.push(outcome),
    (...one) => void left.push(one),
  );
  embedder.add(1, { model: "default", inputs: ["abc", "de"], truncate: false, tokensMax: 4 });
  embedder.add(2, { model: "default", inputs: ["abc", "de"], truncate: false, tokensMax: 5 });
  embedder.step(0);
  expect(done).toMatchObject([{ id: 1, result: { code: "rate_limit_exceeded" } }]);
  embedder.abort(2);
  embedder.abort(2);
  expect(left).toEqual([[2, 3]]);
});
