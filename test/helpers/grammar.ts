// Grammars over the built-in model's vocabulary, and walks through them at random.

import { GrammarEngine, readVocabulary, type Vocabulary } from "../../ffi/llama/grammar.ts";
import { type GrammarNative, openGrammar } from "../../ffi/library.ts";
import { cText, nativeText } from "../../ffi/text.ts";
import type { Constraint } from "../../src/core/constraint.ts";
import { firstTokens } from "../../src/core/token-mask.ts";
import { ServiceError } from "../../src/core/error.ts";
import type {
  AnswerConstraint,
  ConstraintBackend,
  Matcher,
} from "../../src/worker/text/constraint-backend.ts";
import { grammarDir, native, TINY_PATH } from "./native.ts";

let opened: GrammarNative | undefined;

/** The grammar library; unpacked to a temporary folder the first time. */
export function grammarNative(): GrammarNative {
  return (opened ??= openGrammar(grammarDir()));
}

/** A vocabulary that is all in memory. */
export interface TestVocabulary extends Vocabulary {
  readonly texts: readonly Uint8Array[];
}

/** The tokens of the built-in model, without its weights. */
export function tinyVocabulary(): TestVocabulary {
  const shim = native();
  const load = shim.svc_load_begin(cText(TINY_PATH), Int32Array.of(0, 0, 1, 0, 1, 0), 6, null);
  if (load === null) throw new Error(nativeText(shim.svc_last_error()));
  const model = shim.svc_load_finish(load);
  if (model === null) throw new Error(nativeText(shim.svc_last_error()));
  const { size, flags, bytes } = readVocabulary(shim, model);
  const texts = Array.from({ length: size }, (_, token) => bytes(token).slice());
  shim.svc_model_free(model);
  return { size, flags, texts, bytes: (token) => texts[token] ?? new Uint8Array() };
}

/** Compiles and waits. Throws what `take` throws. */
export function compile(backend: ConstraintBackend, constraint: Constraint | AnswerConstraint): Matcher {
  const pending = backend.compile(constraint);
  for (let waited = 0; waited < 60; waited++) {
    const matcher = pending.take(1000);
    if (matcher !== undefined) return matcher;
  }
  throw new Error("the grammar is still being compiled");
}

/** The ServiceError that an action throws. */
export function refusal(action: () => unknown): ServiceError {
  try {
    action();
  } catch (error) {
    if (error instanceof ServiceError) return error;
    throw error;
  }
  throw new Error("it was not refused");
}

/** Accepts a text in whatever tokens come first in the vocabulary. Returns the last answer, "rejected" as soon as it comes. */
export function feedText(matcher: Matcher, vocabulary: TestVocabulary, text: string): string {
  let last = "";
  for (let rest = Buffer.from(text); rest.length > 0;) {
    const token = vocabulary.texts.findIndex(
      (bytes, id) =>
        bytes.length > 0 && vocabulary.flags[id] === 0 && rest.subarray(0, bytes.length).equals(bytes),
    );
    last = matcher.accept(token);
    if (last === "rejected") return last;
    rest = rest.subarray(vocabulary.texts[token]?.length ?? 1);
  }
  return last;
}

/** Token ids that a mask allows. */
export function allowedTokens(mask: Uint32Array): number[] {
  return firstTokens(mask, Infinity);
}

/** A random number from 0 to below n, from a seed. */
export function randomBelow(seed: number): (n: number) => number {
  let state = seed;
  return (n) => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return Math.floor((((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32) * n);
  };
}

/** From this length on a walk ends where it may, and closes what is open where it can. */
const LONG = 40;
const TOO_LONG = 3000;
const CLOSING = new Set(["]", "}", '"'].map((text) => text.charCodeAt(0)));

export interface Walk {
  readonly text: string;
  readonly tokens: readonly number[];
  /** Tokens that ended something or are control tokens, and were allowed before the end. */
  readonly specialsInside: number;
}

/** Takes a uniformly random allowed token at a time until the answer ends. Frees the matcher. */
export function walk(matcher: Matcher, vocabulary: TestVocabulary, below: (n: number) => number): Walk {
  const tokens: number[] = [];
  let specialsInside = 0;
  const isEnding = (token: number): boolean => ((vocabulary.flags[token] ?? 0) & 1) !== 0;
  for (;;) {
    matcher.computeMask();
    const allowed = allowedTokens(matcher.mask.words);
    const mayEnd = matcher.mayEnd();
    if (allowed.some(isEnding) !== mayEnd) throw new Error("ending tokens and mayEnd() disagree");
    const inside = allowed.filter((token) => !isEnding(token));
    specialsInside += inside.filter((token) => (vocabulary.flags[token] ?? 0) !== 0).length;
    if (mayEnd && (inside.length === 0 || tokens.length > LONG || below(4) === 0)) break;
    const closing =
      tokens.length > LONG ? inside.filter((token) => CLOSING.has(vocabulary.texts[token]?.[0] ?? 0)) : [];
    const choice = closing.length > 0 ? closing : inside;
    const token = choice[below(choice.length)] ?? -1;
    if (matcher.accept(token) === "rejected") throw new Error(`the mask allowed ${token}, accept did not`);
    tokens.push(token);
    if (tokens.length > TOO_LONG) throw new Error("the walk does not end");
  }
  matcher.free();
  const text = Buffer.concat(tokens.map((token) => vocabulary.texts[token] ?? new Uint8Array())).toString();
  return { text, tokens, specialsInside };
}

/** Grammars for a vocabulary; close it. */
export function grammarEngine(vocabulary: Vocabulary, threads = 1): GrammarEngine {
  return new GrammarEngine(grammarNative(), vocabulary, threads);
}
