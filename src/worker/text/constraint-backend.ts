// What the engine loop needs to hold answers to a grammar. Implemented by ffi/grammar.ts, faked in tests.
//
// The order in a step, so that masks cost no time of their own: accept the drawn tokens, masksBegin for the rows of the
// next pass, decode, masksWait, sample under the masks.

import type { Constraint } from "../../core/constraint.ts";

/** ok: more may come. finished: the answer is complete, only an ending token may follow. rejected: nothing changed. */
export type Acceptance = "ok" | "finished" | "rejected";

/**
 * The grammar of a whole answer, or of its tool calls, as the constraint library takes it: a Lark grammar in which the rules
 * named by `parts` are missing, and the schemas from which these are made.
 */
export interface AnswerConstraint {
  readonly type: "answer";
  readonly grammar: string;
  readonly parts: readonly AnswerPart[];
  readonly sources: readonly AnswerSource[];
  /** What stands of the answer in the prompt already. */
  readonly prefix: string;
  /** Places in the request that are not enforced, besides those that the library finds. */
  readonly unenforced: readonly string[];
}

/** A schema of the request. */
export interface AnswerSource {
  readonly schema: Readonly<Record<string, unknown>>;
  /** What cannot be enforced is refused. */
  readonly strict: boolean;
  /** Where it stands in the request. */
  readonly at: string;
}

/** A rule whose body is made from parts of a source, by JSON pointer. */
export interface AnswerPart {
  readonly rule: string;
  readonly source: number;
  readonly pointers: readonly string[];
  /** Types to which values are limited besides. */
  readonly types?: readonly string[];
  /** No white space but after commas and colons. */
  readonly compact?: boolean;
  /** Written as it is, up to a tag; absent: JSON. */
  readonly text?: { readonly avoid: readonly string[]; readonly end: string; readonly except: string };
}

/** A grammar and how far one answer has come in it. Not to be touched between masksBegin and masksWait. */
export interface Matcher {
  /** [ceil(vocabulary / 32)] bit t % 32 of word t / 32 is set where token t may come next. The same memory for good. */
  readonly mask: Uint32Array;
  /** Where `mask` lies, for native samplers. */
  readonly maskAddress: bigint;
  /** Where a mask lies that allows all but the tokens that end an answer. */
  readonly openMaskAddress: bigint;
  /** Places in the request that are not enforced. */
  readonly unenforced: readonly string[];
  /** Moves on by a text, markup included, in whatever tokens. After "rejected" the matcher is of no more use. Throws like accept. */
  feed(text: string): Acceptance;
  /** Moves on by one token. Throws ServiceError when the grammar ran into a limit; the matcher is then of no more use. */
  accept(token: number): Acceptance;
  /** The answer may end here. Throws like accept. */
  mayEnd(): boolean;
  /** Computes `mask` at once. Throws like accept. */
  computeMask(): void;
  /** An independent copy at the same place, with a mask of its own. */
  clone(): Matcher;
  free(): void;
}

/** A grammar that is being compiled beside the engine's own thread. */
export interface PendingGrammar {
  /**
   * Waits up to `waitMs` for the result; undefined while it is not there. Throws ServiceError(invalid_request) with the
   * reason when the constraint cannot be expressed, in which case nothing is left to free.
   */
  take(waitMs: number): Matcher | undefined;
  /** Drops the work. Not to be called after `take` returned a matcher or threw. */
  free(): void;
}

export interface ConstraintBackend {
  /** Begins to compile; a constraint seen before is ready at once. `param`: the request field, for the error. */
  compile(constraint: Constraint | AnswerConstraint, param?: string): PendingGrammar;
  /** Starts to compute the masks of different matchers on threads of their own. One batch at a time. */
  masksBegin(matchers: readonly Matcher[]): void;
  /** Waits for the batch. Returns the matchers that failed: their masks are zero, and `accept` throws the reason. */
  masksWait(): readonly Matcher[];
}
