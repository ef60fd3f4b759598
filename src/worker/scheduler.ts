// Which tokens go into the next forward pass. Pure: no native calls, no clock, no changes to what it is given.
//
// There are no prefill and decode phases: every running sequence has a gap between known and computed tokens, and a step
// closes gaps under one token budget (the idea of vLLM V1's scheduler). A gap of one is a decode row and always goes
// first; wider gaps share what is left, oldest first, in chunks small enough not to hold up the decode rows.

/** What planning needs to know of a sequence. */
export interface Schedulable {
  /** Prompt and generated tokens. */
  readonly known: number;
  /** Tokens in the KV cache; each takes one cell. */
  readonly computed: number;
}

export interface PlanInput<S extends Schedulable> {
  /** Sequences with a slot, in order of admission. */
  readonly running: readonly S[];
  /** Sequences without one, first come first. */
  readonly waiting: readonly S[];
  readonly freeSlots: number;
  /** Cells of the KV cache. */
  readonly cells: number;
  /** Tokens of one step. */
  readonly budget: number;
  /** Tokens of one step that may belong to gaps wider than one while others decode. */
  readonly chunk: number;
}

/** `count` tokens of a sequence from its computed position on. */
export interface PlannedRows<S> {
  readonly sequence: S;
  readonly count: number;
}

export interface Plan<S> {
  readonly rows: readonly PlannedRows<S>[];
  /** Waiting sequences that get a slot now; a beginning of `waiting`. */
  readonly admitted: readonly S[];
  /** Running sequences that lose their slot and cells, and wait at the front of the queue; youngest first. */
  readonly preempted: readonly S[];
}

/** Cells left free for each running sequence at an admission, so that the newcomer is not thrown out a moment later. */
const HEADROOM_CELLS = 16;

/**
 * Plans one step. Holds always: rows ≤ budget; computed cells of all running sequences + rows ≤ cells; a lone sequence
 * that fits the cache is never preempted; if anything is running or could be admitted, there is at least one row.
 */
export function plan<S extends Schedulable>(input: PlanInput<S>): Plan<S> {
  const { kept, preempted, freeCells } = preempt(input);
  const decode = kept.filter((sequence) => sequence.known - sequence.computed === 1);
  const rows: PlannedRows<S>[] = [];
  let budget = input.budget;
  let cells = freeCells;
  const take = (sequence: S, most: number): number => {
    const count = Math.min(sequence.known - sequence.computed, most, budget, cells);
    if (count <= 0) return 0;
    rows.push({ sequence, count });
    budget -= count;
    cells -= count;
    return count;
  };
  for (const sequence of decode) take(sequence, 1);
  let chunk = rows.length > 0 ? input.chunk : input.budget;
  for (const sequence of kept) {
    if (sequence.known - sequence.computed > 1) chunk -= take(sequence, chunk);
  }
  const admitted: S[] = [];
  if (preempted.length === 0) {
    let running = kept.length;
    const owed = kept.reduce((sum, { known, computed }) => sum + known - computed, 0);
    const planned = rows.reduce((sum, { count }) => sum + count, 0);
    let reserved = owed - planned; // cells that running prompts will still need
    for (const sequence of input.waiting) {
      if (admitted.length >= input.freeSlots || chunk <= 0 || budget <= 0) break;
      if (running > 0 && cells - reserved < sequence.known + HEADROOM_CELLS * (running + 1)) break;
      const count = take(sequence, chunk);
      if (count === 0) break;
      chunk -= count;
      reserved += sequence.known - count;
      running++;
      admitted.push(sequence);
    }
  }
  return { rows, admitted, preempted };
}

/** Takes slots from the youngest until the others can go on: each needs room for one token at least. */
function preempt<S extends Schedulable>({
  running,
  cells,
}: PlanInput<S>): {
  kept: readonly S[];
  preempted: readonly S[];
  freeCells: number;
} {
  let freeCells = cells - running.reduce((sum, sequence) => sum + sequence.computed, 0);
  let keep = running.length;
  const preempted: S[] = [];
  while (keep > 1 && freeCells < keep) {
    const youngest = running[--keep];
    if (youngest === undefined) break;
    freeCells += youngest.computed;
    preempted.push(youngest);
  }
  return { kept: running.slice(0, keep), preempted, freeCells };
}

/** Running averages of what steps cost, from which the prefill chunk is chosen. */
export interface StepCost {
  /** A step of decode rows alone, milliseconds; 0 while unknown. */
  readonly decodeMs: number;
  /** Each prefill token on top of that, milliseconds; 0 while unknown. */
  readonly prefillTokenMs: number;
}

/** A new measurement weighs this much. */
const COST_WEIGHT = 0.2;

/** Takes one measured step into the averages. */
export function measured(
  cost: StepCost,
  stepMs: number,
  decodeRows: number,
  prefillTokens: number,
): StepCost {
  const blend = (old: number, value: number): number =>
    old === 0 ? value : old + COST_WEIGHT * (value - old);
  if (prefillTokens === 0)
    return decodeRows === 0 ? cost : { ...cost, decodeMs: blend(cost.decodeMs, stepMs) };
  const base = decodeRows > 0 ? Math.min(cost.decodeMs, stepMs) : 0;
  return { ...cost, prefillTokenMs: blend(cost.prefillTokenMs, (stepMs - base) / prefillTokens) };
}

/** Prefill may lengthen a step by as much as decode takes anyway, but never by less than this. */
const CHUNK_MS_MIN = 20;
const CHUNK_TOKENS_MIN = 16;

/** Prefill tokens of a step in which others decode: about as long as the decode itself, within [16, ubatch]. */
export function prefillChunk(cost: StepCost, ubatch: number): number {
  if (cost.prefillTokenMs <= 0) return Math.min(64, ubatch);
  const tokens = Math.floor(Math.max(CHUNK_MS_MIN, cost.decodeMs) / cost.prefillTokenMs);
  return Math.max(Math.min(CHUNK_TOKENS_MIN, ubatch), Math.min(ubatch, tokens));
}
