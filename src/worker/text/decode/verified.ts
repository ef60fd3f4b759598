// Drafts under verification: what was sampled after each sequence's last known token and after each right draft token.

import { assert } from "../../../core/assert.ts";
import type { AnswerGuard } from "../answer-guard.ts";
import type { EngineSequence } from "../choice.ts";
import type { GuardedDraft } from "./grammar-draft.ts";
import type { DecodeContext } from "./mode.ts";

/** A sequence whose draft is being verified; `row` is the row of its last known token. */
export interface Verified {
  readonly sequence: EngineSequence;
  readonly row: number;
  /** When the draft was made: its masks are those of this grammar. */
  readonly guard: AnswerGuard | undefined;
  readonly guarded: GuardedDraft | undefined;
  /** Tokens of the draft without fillers. */
  readonly proposed: number;
  accepted: number;
}

/** Appends the tokens that were sampled, each after its sequence's right draft tokens. */
export function takeSampled(
  verified: readonly Verified[],
  tokens: Int32Array,
  takeToken: DecodeContext["takeToken"],
  nowMs: number,
): void {
  verified.forEach(({ sequence, row, accepted }, i) => {
    const token = tokens[i];
    assert(token !== undefined, "a token was sampled for each sequence");
    takeToken(sequence, token, row + accepted, nowMs);
  });
}

/** Whether the token sampled last is the next draft token, and the sequence still runs unchanged, under the same grammar. */
export function isAccepted({ sequence, guard, proposed, accepted }: Verified): boolean {
  const { slot, known, computed, draft, owner } = sequence;
  const runs = slot !== undefined && owner.guard === guard && accepted < proposed;
  return runs && known === computed + 1 && sequence.tokenAt(known - 1) === draft[accepted];
}
