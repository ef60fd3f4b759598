// The columns of one forward pass, allocated once and refilled for each pass.

import { assert } from "../../core/assert.ts";
import type { BatchColumns } from "./backend.ts";
import type { PlannedRows } from "./scheduler.ts";
import type { Sequence } from "./sequence.ts";

export class Batch<S extends Sequence> {
  readonly columns: BatchColumns;
  /** Rows in use. */
  count = 0;
  /** Sequences whose next token is sampled in this pass; the arrays below are parallel to it. */
  readonly drawn: S[] = [];
  readonly batchRows: Int32Array; // [slots] row of each sequence's last token
  readonly samplers: BigUint64Array; // [slots]
  readonly masks: BigUint64Array; // [slots] address of each sequence's bitset of allowed tokens, 0 for none
  readonly tokens: Int32Array; // [slots] sampled tokens

  constructor(rows: number, slots: number) {
    this.columns = {
      token: new Int32Array(rows),
      position: new Int32Array(rows),
      slot: new Int32Array(rows),
      output: new Int8Array(rows),
    };
    this.batchRows = new Int32Array(slots);
    this.samplers = new BigUint64Array(slots);
    this.masks = new BigUint64Array(slots);
    this.tokens = new Int32Array(slots);
  }

  /** Lays out the planned rows. A sequence whose gap closes gets its next token sampled. Returns the prefill tokens. */
  fill(rows: readonly PlannedRows<S>[]): number {
    const { token, position, slot, output } = this.columns;
    let at = 0;
    let prefill = 0;
    this.drawn.length = 0;
    for (const { sequence, count } of rows) {
      sequence.copyTokens(sequence.computed, count, token, at);
      const first = sequence.positionOf(sequence.computed);
      for (let i = 0; i < count; i++) position[at + i] = first + i;
      assert(sequence.slot !== undefined, "only a sequence with a slot has rows");
      slot.fill(sequence.slot, at, at + count);
      output.fill(sequence.scoresPrompt ? 1 : 0, at, at + count);
      at += count;
      if (sequence.gap > 1) prefill += count;
      if (count === sequence.gap) {
        output[at - 1] = 1;
        this.batchRows[this.drawn.length] = at - 1;
        this.samplers[this.drawn.length] = sequence.sampler;
        this.drawn.push(sequence);
        at = this.fillDraft(sequence, at, first + count);
      }
    }
    this.count = at;
    return prefill;
  }

  /** Leaves out sequences whose next token is not sampled after all. */
  dropDrawn(isDropped: (sequence: S) => boolean): void {
    const { drawn, batchRows, samplers } = this;
    let kept = 0;
    drawn.forEach((sequence, i) => {
      if (isDropped(sequence)) return;
      drawn[kept] = sequence;
      batchRows.copyWithin(kept, i, i + 1);
      samplers.copyWithin(kept, i, i + 1);
      kept++;
    });
    drawn.length = kept;
  }

  /** Draft tokens follow their sequence's last known token, each with logits to verify the next. */
  private fillDraft({ draft, slot }: S, at: number, position: number): number {
    const { columns } = this;
    const end = at + draft.length;
    columns.token.set(draft, at);
    for (let i = 0; i < draft.length; i++) columns.position[at + i] = position + i;
    assert(slot !== undefined, "only a sequence with a slot has a draft");
    columns.slot.fill(slot, at, end);
    columns.output.fill(1, at, end);
    return end;
  }
}
