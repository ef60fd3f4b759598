// Which tokens go into the next forward pass. Pure: no native calls, no clock, no changes to what it is given.
//
// There are no prefill and decode phases: every running sequence has a gap between known and computed tokens, and a step
// closes gaps under one token budget (the idea of vLLM V1's scheduler). A gap of one is a decode row and always goes
// first; wider gaps share what is left, oldest first, in chunks small enough not to hold up the decode rows.

/** What one step may take of a sequence's tokens from a certain one on. */
export interface RowLimits {
  /** Fewer are of no use. */
  readonly least: number;
  readonly most: number;
  /** They go into a pass of their own, for they are computed from encodings of media; never the last known token. */
  readonly separate: boolean;
}

/** As many as there are, together with others. */
export const FREE_ROWS: RowLimits = { least: 1, most: Number.MAX_SAFE_INTEGER, separate: false };

/** What planning needs to know of a sequence. */
export interface Schedulable {
  /** Prompt and generated tokens. */
  readonly known: number;
  /** Tokens in the KV cache. */
  readonly computed: number;
  rowsFrom(token: number): RowLimits;
}

/** A waiting sequence and what it can take over instead of computing it. */
export interface Candidate<S> {
  readonly sequence: S;
  /** Tokens whose cells it will share. */
  readonly shared: number;
  /** How many of these cells running sequences hold anyway. */
  readonly sharedPinned: number;
}

export interface PlanInput<S extends Schedulable> {
  /** Sequences with a slot, in order of admission. */
  readonly running: readonly S[];
  /** Whether a running sequence may have rows in this step: only those that share an adapter go together. */
  readonly isEligible: (sequence: S) => boolean;
  /** Sequences that may get a slot, first come first; all in turn. */
  readonly candidates: readonly Candidate<S>[];
  readonly freeSlots: number;
  /** Cells that no running sequence holds. */
  readonly freeCells: number;
  /** Cells that a running sequence alone holds. */
  readonly exclusiveCells: (sequence: S) => number;
  /** Tokens of one pass. */
  readonly budget: number;
  /** Tokens of one step that may belong to gaps wider than one while others decode. */
  readonly chunk: number;
}

/** `count` tokens of a sequence from its computed position on (for a candidate: from its shared length on). */
export interface PlannedRows<S> {
  readonly sequence: S;
  readonly count: number;
}

export interface Plan<S> {
  /** What goes into one pass together. */
  readonly rows: readonly PlannedRows<S>[];
  /** What goes into passes of their own. */
  readonly separate: readonly PlannedRows<S>[];
  /** Candidates that get a slot now; a beginning of `candidates`. */
  readonly admitted: readonly Candidate<S>[];
  /** Running sequences that lose their slot and cells, and wait at the front of the queue; youngest first. */
  readonly preempted: readonly S[];
}

/** Cells left free for each running sequence at an admission, so that the newcomer is not thrown out a moment later. */
const HEADROOM_CELLS = 16;

/**
 * Plans one step. Holds always: rows of each pass ≤ budget; rows and newly held shared cells ≤ free cells after preemption; the oldest
 * running sequence is never preempted; if any sequence that is not preempted is in turn, or a candidate fits, there is at
 * least one row.
 */
export function plan<S extends Schedulable>(input: PlanInput<S>): Plan<S> {
  const { kept, preempted, freeCells } = preempt(input);
  const step = new Step<S>(input.budget, freeCells);
  const served = kept.filter(input.isEligible);
  for (const sequence of served)
    if (sequence.known - sequence.computed === 1) step.take(sequence, 1, 1, FREE_ROWS);
  let chunk = step.rows.length > 0 ? input.chunk : input.budget;
  for (const sequence of served) {
    const gap = sequence.known - sequence.computed;
    if (gap > 1) chunk -= step.take(sequence, gap, chunk, sequence.rowsFrom(sequence.computed));
  }
  const admitted = preempted.length > 0 ? [] : admit(input, step, kept, chunk);
  return { rows: step.rows, separate: step.separate, admitted, preempted };
}

/** The rows of a step as they are handed out. */
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

  /** Rows handed out. */
  get planned(): number {
    return [...this.rows, ...this.separate].reduce((sum, { count }) => sum + count, 0);
  }

  /**
   * Gives a sequence what it wants within all limits; returns how much that is. `share` is what it may have beside others;
   * rows that only make sense together may exceed it.
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

/** Admits candidates in order until one does not fit: nobody overtakes. */
function admit<S extends Schedulable>(
  { candidates, freeSlots }: PlanInput<S>,
  step: Step<S>,
  kept: readonly S[],
  chunkLeft: number,
): Candidate<S>[] {
  const admitted: Candidate<S>[] = [];
  let owed = kept.reduce((sum, { known, computed }) => sum + known - computed, 0) - step.planned; // cells to be filled
  let chunk = chunkLeft;
  for (const candidate of candidates) {
    const { sequence, shared, sharedPinned } = candidate;
    const running = kept.length + admitted.length;
    const needed = sequence.known - sharedPinned + HEADROOM_CELLS * (running + 1);
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

/** Takes slots from the youngest until the others can go on: each needs room for its next rows. */
function preempt<S extends Schedulable>({
  running,
  freeCells,
  exclusiveCells,
}: PlanInput<S>): {
  kept: readonly S[];
  preempted: readonly S[];
  freeCells: number;
} {
  let free = freeCells;
  let keep = running.length;
  let needed = running.reduce((sum, sequence) => sum + leastRows(sequence), 0);
  const preempted: S[] = [];
  while (keep > 1 && free < needed) {
    const youngest = running[--keep];
    if (youngest === undefined) break;
    needed -= leastRows(youngest);
    free += exclusiveCells(youngest);
    preempted.push(youngest);
  }
  return { kept: running.slice(0, keep), preempted, freeCells: free };
}

function leastRows(sequence: Schedulable): number {
  const { known, computed } = sequence;
  return known - computed <= 1 ? 1 : sequence.rowsFrom(computed).least;
}
