// Speculative decoding: guessed tokens are computed beside a sequence's last known one, and each is kept as long as it is
// what the sampler draws at its place. Every token is drawn from the model's own logits, so that guesses change how fast an
// answer comes and nothing else (Leviathan et al. 2023, with drafts that are certain).

import type { Backend } from "./backend.ts";
import type { Batch } from "./batch.ts";
import type { EngineSequence } from "./choice.ts";
import { type DraftSource, IndexSource, ModelSource, type Wanted } from "./draft-source.ts";
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

/** What guesses are checked with. */
export interface Checking {
  readonly backend: Backend;
  readonly batch: Batch<EngineSequence>;
  readonly kv: KvCache;
}

/** The guesses of a step. */
export interface Guesses {
  /** Tokens in the sequences' drafts. */
  readonly guessed: number;
  /** Tokens that guessing cost the time of. */
  readonly tried: number;
}

export const NO_GUESSES: Guesses = { guessed: 0, tried: 0 };

/** How next tokens are guessed on a backend, if at all; `drafts`: from what stands in the sequence, where no model does. */
export function newSpeculation(backend: Backend, drafts: boolean): Speculation | undefined {
  if (backend.draftModel !== undefined) return new Speculation(new ModelSource(backend.draftModel));
  const canCut = backend.reuse === "prefix"; // wrong guesses must be cut away again
  return drafts && canCut ? new Speculation(new IndexSource()) : undefined;
}

export class Speculation {
  private readonly source: DraftSource;

  constructor(source: DraftSource) {
    this.source = source;
  }

  /**
   * Guesses for the rows of a step, into each sequence's `draft`. Only steps without prompts have guesses, `room` tokens at
   * most. `price`: see Drafter.worth.
   */
  guess(rows: readonly PlannedRows<EngineSequence>[], room: number, price: number): Guesses {
    for (const { sequence } of rows) sequence.draft = NO_DRAFT; // a pass that failed leaves its guesses behind
    if (rows.some(({ sequence }) => sequence.gap !== 1)) {
      this.source.prompts(rows.length);
      return NO_GUESSES;
    }
    const pays = rows.some(({ sequence }) => (sequence.owner.drafter?.worth(price) ?? 0) > 0);
    if (room <= 0 || !this.source.ready(rows.length, pays)) return NO_GUESSES;
    const wanted = rows.flatMap(({ sequence }) => {
      const most = this.wanted(sequence, price);
      return most > 0 ? { sequence, most } : [];
    });
    if (wanted.length === 0) return NO_GUESSES;
    return this.handOut(wanted, this.source.draft(wanted, room));
  }

  /**
   * Checks the guesses of a step whose first tokens have been drawn and taken: at `rows` the logits after each sequence's
   * last known token, followed by those after its guesses. Afterwards nothing of a wrong guess is left.
   */
  check(
    sequences: readonly EngineSequence[],
    rows: Int32Array,
    { backend, batch, kv }: Checking,
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
      if (sequence.slot !== undefined) this.source.checked(sequence.slot, right);
    }
    return { guessed, right: guessing.reduce((sum, { right }) => sum + right, 0) };
  }

  /** Tokens to guess of a sequence. */
  private wanted(sequence: EngineSequence, price: number): number {
    const { drafter, run } = sequence.owner;
    if (drafter === undefined || sequence.generated === 0) return 0;
    const left = run.tokenCap - sequence.generated - 1; // one more is drawn after them
    return Math.min(left, this.source.most, drafter.wanted(sequence.known, price));
  }

  private handOut(wanted: readonly Wanted[], drafts: readonly Int32Array[]): Guesses {
    let guessed = 0;
    let tried = 0;
    drafts.forEach((draft, i) => {
      const sequence = wanted[i]?.sequence;
      if (sequence === undefined || (draft.length === 0 && !this.source.isDear)) return;
      sequence.draft = draft;
      sequence.owner.drafter?.guessed(sequence.known);
      if (draft.length === 0) sequence.owner.drafter?.learn(0, false);
      guessed += draft.length;
      tried += Math.max(1, draft.length);
    });
    return { guessed, tried };
  }
}

/** Whether the token drawn last is the next guess, and nothing else has happened to the sequence. */
function isRight({ sequence, right }: Checked): boolean {
  const { slot, known, computed, draft } = sequence;
  return slot !== undefined && known === computed + 1 && sequence.tokenAt(known - 1) === draft[right];
}
