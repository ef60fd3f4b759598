// Speculative decoding: guessed tokens are computed beside a sequence's last known one, and each is kept as long as it is
// what the sampler draws at its place. Every token is drawn from the model's own logits, so that guesses change how fast an
// answer comes and nothing else (Leviathan et al. 2023, with drafts that are certain).

import type { Backend } from "./backend.ts";
import type { Batch } from "./batch.ts";
import type { EngineSequence } from "./choice.ts";
import type { KvCache } from "./kv.ts";
import type { PlannedRows } from "./scheduler.ts";

const NO_DRAFT: Int32Array = new Int32Array();

/** Takes a drawn token into its sequence, which may end it; `row` has its logits. */
export type Take = (sequence: EngineSequence, token: number, row: number) => void;

/** How good the guesses of a step were. */
export interface DraftOutcome {
  readonly guessed: number;
  readonly right: number;
}

/** A sequence whose guesses are being checked; `row` is that of its last known token. */
interface Checked {
  readonly sequence: EngineSequence;
  readonly row: number;
  right: number;
}

/**
 * Guesses for the rows of a step, into each sequence's `draft`; returns how many tokens they are. Only steps without prompts
 * have guesses, within `room` tokens. `price`: see Drafter.draft.
 */
export function guess(rows: readonly PlannedRows<EngineSequence>[], room: number, price: number): number {
  for (const { sequence } of rows) sequence.draft = NO_DRAFT; // a pass that failed leaves its guesses behind
  if (rows.some(({ sequence }) => sequence.gap !== 1)) return 0;
  let left = room;
  for (const { sequence } of rows) {
    const { drafter, run } = sequence.owner;
    const most = Math.min(left, run.tokenCap - sequence.generated - 1); // one more is drawn after them
    if (drafter === undefined || sequence.generated === 0 || most <= 0) continue;
    sequence.draft = drafter.draft(sequence.firstTokens(sequence.known), most, price);
    left -= sequence.draft.length;
  }
  return room - left;
}

/**
 * Checks the guesses of a step whose first tokens have been drawn and taken: at `rows` the logits after each sequence's last
 * known token, followed by those after its guesses. Afterwards nothing of a wrong guess is left.
 */
export function check(
  sequences: readonly EngineSequence[],
  rows: Int32Array,
  {
    backend,
    batch,
    kv,
  }: { readonly backend: Backend; readonly batch: Batch<EngineSequence>; readonly kv: KvCache },
  take: Take,
): DraftOutcome {
  const all = sequences.map((sequence, i): Checked => ({ sequence, row: rows[i] ?? 0, right: 0 }));
  const guessing = all.filter(({ sequence }) => sequence.draft.length > 0);
  const guessed = guessing.reduce((sum, { sequence }) => sum + sequence.draft.length, 0);
  for (let going = guessing.filter(isRight); going.length > 0; going = going.filter(isRight)) {
    going.forEach((checked, i) => {
      checked.right++;
      checked.sequence.computed++;
      batch.batchRows[i] = checked.row + checked.right;
      batch.samplers[i] = checked.sequence.sampler;
      batch.masks[i] = 0n;
    });
    backend.sample(going.length, batch.batchRows, batch.samplers, batch.masks, batch.tokens);
    const drawn = batch.tokens.slice(0, going.length);
    going.forEach(({ sequence, row, right }, i) => take(sequence, drawn[i] ?? -1, row + right));
  }
  for (const { sequence, right } of guessing) {
    sequence.owner.drafter?.learn(right, right === sequence.draft.length);
    sequence.draft = NO_DRAFT;
    kv.settle(sequence);
  }
  return { guessed, right: guessing.reduce((sum, { right }) => sum + right, 0) };
}

/** Whether the token drawn last is the next guess, and nothing else has happened to the sequence. */
function isRight({ sequence, right }: Checked): boolean {
  const { slot, known, computed, draft } = sequence;
  return slot !== undefined && known === computed + 1 && sequence.tokenAt(known - 1) === draft[right];
}
