// What the engine needs to constrain answers by a grammar. Implemented by ffi/llama/grammar.ts, faked in tests.
//
// Order in a step, so that masks are computed beside the pass: accept the sampled tokens, masksBegin for the rows of the
// next pass, decode, masksWait, sample with the masks.

import type { Constraint } from "../../core/constraint.ts";

/** ok: more may come. finished: the answer is complete, only an ending token may follow. rejected: nothing changed. */
export type Acceptance = "ok" | "finished" | "rejected";

/**
 * The grammar of a whole answer or of its tool calls: a Lark grammar without the rules of `parts`, and the schemas that
 * these rules are compiled from.
 */
export interface AnswerConstraint {
  readonly type: "answer";
  readonly grammar: string;
  readonly parts: readonly AnswerPart[];
  readonly sources: readonly AnswerSource[];
  /** The part of the answer that the prompt contains already. */
  readonly prefix: string;
  /** Schema locations that are not enforced, besides those that the library reports. */
  readonly unenforced: readonly string[];
  /** Tags that end free text. */
  readonly tags: readonly string[];
}

/** A schema of the request. */
export interface AnswerSource {
  readonly schema: Readonly<Record<string, unknown>>;
  /** A schema that cannot be enforced is rejected. */
  readonly strict: boolean;
  /** Its location in the request. */
  readonly at: string;
}

/** A rule whose body is compiled from parts of a source, by JSON pointer. */
export interface AnswerPart {
  readonly rule: string;
  readonly source: number;
  readonly pointers: readonly string[];
  /** Types that values are limited to, besides. */
  readonly types?: readonly string[];
  /** White space only after commas and colons. */
  readonly compact?: boolean;
  /** Raw text up to a tag; absent: JSON. */
  readonly text?: { readonly avoid: readonly string[]; readonly end: string; readonly except: string };
}

/** A way to the end of an answer, which says as little as it can. The last token ends the answer. */
export type Closing = readonly {
  readonly token: number;
  /** Free texts from here on that the model could write, the present one included. */
  readonly texts: number;
}[];

/** The tokens that may come at one place of an answer. */
export interface Mask {
  /** [ceil(vocabulary / 32)] bit t % 32 of word t / 32 is set where token t may come. Its memory never moves. */
  readonly words: Uint32Array;
  /** Address of `words`, for native samplers. */
  readonly address: bigint;
}

/** A grammar and the state of one answer in it. Must not be used between masksBegin and masksWait. */
export interface Matcher {
  /** Of the next token, once it is computed. */
  readonly mask: Mask;
  /** Address of a mask that allows all tokens except those that end an answer. */
  readonly openMaskAddress: bigint;
  /** Schema locations of the request that are not enforced. */
  readonly unenforced: readonly string[];
  /** Advances by a text, markup included, however it is tokenized. After "rejected" the matcher is unusable. Throws like accept. */
  feed(text: string): Acceptance;
  /** Advances by one token. Throws ServiceError when the grammar exceeds a limit; then the matcher is unusable. */
  accept(token: number): Acceptance;
  /** Whether the answer may end here. Throws like accept. */
  mayEnd(): boolean;
  /** Computes the mask of the next token synchronously, into `mask` or into another. Throws like accept. */
  computeMask(into?: Mask): void;
  /** A short way to the end; undefined if none was found. Some milliseconds; `mask` stays as it is. Throws like accept. */
  closing(): Closing | undefined;
  /** An independent copy in the same state, with its own mask. */
  clone(): Matcher;
  free(): void;
}

/** A grammar that is being compiled on another thread. */
export interface PendingGrammar {
  /**
   * Waits up to `waitMs` for the result; undefined while it is pending. Throws ServiceError(invalid_request) with the reason
   * when the constraint cannot be expressed; then nothing is left to free.
   */
  take(waitMs: number): Matcher | undefined;
  /** Drops the work. Not to be called after `take` returned a matcher or threw. */
  free(): void;
}

export interface ConstraintBackend {
  /** A mask for places further on in an answer. */
  newMask(): Mask;
  /** Starts to compile; a cached constraint is ready at once. `param`: the request field, for the error. */
  compile(constraint: Constraint | AnswerConstraint, param?: string): PendingGrammar;
  /** Starts to compute the masks of distinct matchers on other threads. One batch at a time. */
  masksBegin(matchers: readonly Matcher[]): void;
  /** Waits for the batch. Returns the matchers that failed: their masks are zero, and `accept` throws the reason. */
  masksWait(): readonly Matcher[];
}
