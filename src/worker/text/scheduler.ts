// Scheduler: which tokens the next step computes. Pure: no native calls, no clock, no changes of its input.
//
// There are no prefill and decode phases: every running sequence has a gap between known and computed tokens, and a step
// closes gaps under one token budget (as vLLM V1's scheduler). A gap of one is a decode row and always goes first; wider
// gaps share the rest, oldest first, in prefill chunks small enough not to delay the decode rows.

/** How many of a sequence's tokens, from a certain one on, a step may compute. */
export interface RowLimits {
  /** Fewer cannot be computed. */
  readonly least: number;
  readonly most: number;
  /** They need a separate pass, because they are computed from an encoding; never the last known token. */
  readonly separate: boolean;
}

/** No limits, in a common pass. */
export const FREE_ROWS: RowLimits = { least: 1, most: Number.MAX_SAFE_INTEGER, separate: false };

/** A sequence as the scheduler sees it. */
export interface Schedulable {
  /** Prompt and generated tokens. */
  readonly known: number;
  /** Tokens in the KV cache. */
  readonly computed: number;
  rowsFrom(token: number): RowLimits;
}

/** A waiting sequence with its prefix hit. */
export interface Candidate<S> {
  readonly sequence: S;
  /** Tokens of the prefix hit. */
  readonly shared: number;
  /** Cells among them that running sequences hold already. */
  readonly sharedPinned: number;
}

export interface PlanInput<S extends Schedulable> {
  /** Sequences with a slot, in order of admission. */
  readonly running: readonly S[];
  /** Whether a running sequence may have rows in this step: only sequences of one adapter share a pass. */
  readonly isEligible: (sequence: S) => boolean;
  /** Sequences that may be admitted, oldest first; all eligible. */
  readonly candidates: readonly Candidate<S>[];
  readonly freeSlots: number;
  /** Cells that no running sequence holds. */
  readonly freeCells: number;
  /** Cells that a running sequence alone holds. */
  readonly exclusiveCells: (sequence: S) => number;
  /** Tokens of one pass. */
  readonly budget: number;
  /** Prefill tokens of a step in which others decode. */
  readonly chunk: number;
}

/** `count` tokens of a sequence from its computed length on (for a candidate: from its shared length on). */
export interface PlannedRows<S> {
  readonly sequence: S;
  readonly count: number;
}

export interface Plan<S> {
  /** Rows of the common pass. */
  readonly rows: readonly PlannedRows<S>[];
  /** Rows of separate passes. */
  readonly separate: readonly PlannedRows<S>[];
  /** Candidates to admit; a prefix of `candidates`. */
  readonly admitted: readonly Candidate<S>[];
  /** Running sequences to preempt, youngest first. */
  readonly preempted: readonly S[];
}

/** Cells left free for each running sequence at an admission, so that the new one is not preempted at once. */
const HEADROOM_CELLS = 16;

/** Cells that must be available before a sequence is admitted beside `running` others. `pinned`: cells that it shares with these. */
export function cellsToAdmit({ known }: Schedulable, pinned: number, running: number): number {
  return known - pinned + (running === 0 ? 0 : HEADROOM_CELLS * (running + 1));
}

/**
 * Plans one step. Invariants: rows of each pass ≤ budget; rows and newly pinned cells ≤ free cells after preemption; the
 * oldest running sequence is never preempted; if a remaining sequence is eligible, or a candidate fits, there is at least
 * one row.
 */
export function plan<S extends Schedulable>(input: PlanInput<S>): Plan<S> {
  const { kept, preempted, freeCells } = preempt(input);
  const step = new Step<S>(input.budget, freeCells);
  const served = kept.filter(input.isEligible);
  for (const sequence of served) if (gapOf(sequence) === 1) step.take(sequence, 1, 1, FREE_ROWS);
  const isAlone = step.rows.length === 0; // no answer waits for these prompts
  let chunk = isAlone ? input.budget : input.chunk;
  for (const sequence of served) {
    const gap = gapOf(sequence);
    if (gap > 1) chunk -= step.take(sequence, gap, chunk, sequence.rowsFrom(sequence.computed));
  }
  // What was preempted is older than any candidate.
  const admitted = preempted.length > 0 ? [] : admit(input, step, kept, chunk);
  return { rows: step.rows, separate: step.separate, admitted, preempted };
}

/** Tokens of a sequence that are known and not computed. */
function gapOf({ known, computed }: Schedulable): number {
  return known - computed;
}

/** Rows assigned so far, and the budget left. */
class Step<S> {
  readonly rows: PlannedRows<S>[] = [];
  readonly separate: PlannedRows<S>[] = [];
  budget: number;
  cells: number;
  private readonly pass: number;

  constructor(budget: number, cells: number) {
    this.budget = budget;
    this.pass = budget;
    this.cells = cells;
  }

  /** Rows assigned. */
  get planned(): number {
    return [...this.rows, ...this.separate].reduce((sum, { count }) => sum + count, 0);
  }

  /**
   * Assigns rows to a sequence within all limits; returns their number. `share` is its part of the budget; rows that must be
   * computed together may exceed it.
   */
  take(sequence: S, wanted: number, share: number, { least, most, separate }: RowLimits): number {
    if (share <= 0) return 0;
    const room = Math.min(separate ? this.pass : this.budget, this.cells);
    const count = Math.min(wanted, most, room, Math.max(share, least));
    if (count <= 0 || count < least) return 0;
    (separate ? this.separate : this.rows).push({ sequence, count });
    if (!separate) this.budget -= count;
    this.cells -= count;
    return count;
  }
}

/** Admits candidates in order until one does not fit; none overtakes it. */
function admit<S extends Schedulable>(
  { candidates, freeSlots }: PlanInput<S>,
  step: Step<S>,
  kept: readonly S[],
  chunkLeft: number,
): Candidate<S>[] {
  const admitted: Candidate<S>[] = [];
  /** Cells that admitted sequences will fill in later steps. */
  let owed = kept.reduce((sum, sequence) => sum + gapOf(sequence), 0) - step.planned;
  let chunk = chunkLeft;
  for (const candidate of candidates) {
    const { sequence, shared, sharedPinned } = candidate;
    const running = kept.length + admitted.length;
    const needed = cellsToAdmit(sequence, sharedPinned, running);
    if (admitted.length >= freeSlots || chunk <= 0 || step.budget <= 0) break;
    if (running > 0 && step.cells - owed < needed) break;
    step.cells -= shared - sharedPinned;
    const gap = sequence.known - shared;
    const count = step.take(sequence, gap, chunk, sequence.rowsFrom(shared));
    if (count === 0) break;
    chunk -= count;
    owed += gap - count;
    admitted.push(candidate);
  }
  return admitted;
}

/** Preempts the youngest sequences until the others have cells for their next rows. */
function preempt<S extends Schedulable>({
  running,
  freeCells,
  exclusiveCells,
}: PlanInput<S>): {
  readonly kept: readonly S[];
  readonly preempted: readonly S[];
  readonly freeCells: number;
} {
  const kept = [...running];
  const preempted: S[] = [];
  let free = freeCells;
  let needed = kept.reduce((sum, sequence) => sum + leastRows(sequence), 0);
  while (kept.length > 1 && free < needed) {
    const youngest = kept.pop();
    if (youngest === undefined) break;
    needed -= leastRows(youngest);
    free += exclusiveCells(youngest);
    preempted.push(youngest);
  }
  return { kept, preempted, freeCells: free };
}

/** The fewest rows with which a step gets on with a sequence. */
function leastRows(sequence: Schedulable): number {
  return gapOf(sequence) <= 1 ? 1 : sequence.rowsFrom(sequence.computed).least;
}
