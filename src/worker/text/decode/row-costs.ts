// What passes cost by their rows. Kernels take rows in blocks, so one row more may cost nothing, or as much as eight. Measured widths
// are known; others are estimated from below, since a width that is thought too cheap is tried and then known. Knows nothing of drafts.

/** The widest pass that is remembered, rows. */
const WIDTH_MAX = 256;
/** Passes after which a measured width is measured again when it would pay: contexts have become shorter, a machine less busy. */
const AGE_MAX = 4096;
/** Of a slower measurement: a busy machine makes passes longer, never shorter. */
const SLOWER_WEIGHT = 0.2;
/** Cost of a row as a share of that of a row of the narrowest pass, before anything else is known. */
const ROW_SHARE_UNKNOWN = 0.5;

/** What drafts must gain at least, by an estimate that is off now and then. */
const GAIN_MIN = 1.1;

/** A pass without further rows. */
export interface BasePass {
  readonly rows: number;
  readonly ms: number;
  /** Each row of a much wider pass, milliseconds; 0: unknown. */
  readonly wideRowMs: number;
}

/** Costs of the last call are those of a base that takes as long, but for this share. */
const NEAR_SHARE = 0.03;

export class RowCosts {
  private last:
    | { readonly base: BasePass; readonly passes: number; readonly costs: Float64Array }
    | undefined;
  private readonly ms = new Float64Array(WIDTH_MAX + 1); // by rows; 0: unknown
  private readonly measuredAt = new Float64Array(WIDTH_MAX + 1); // in passes
  private passes = 0;

  /** A pass of `rows` rows took `ms`. */
  measured(rows: number, ms: number): void {
    this.passes++;
    if (rows > WIDTH_MAX) return;
    const old = this.known(rows);
    this.ms[rows] = old === undefined ? ms : ms < old ? (old + ms) / 2 : old + SLOWER_WEIGHT * (ms - old);
    this.measuredAt[rows] = this.passes;
  }

  /** [more + 1] milliseconds of passes with 0 … `more` rows more than the base; never falling. */
  of(base: BasePass, more: number): Float64Array {
    const { last, passes } = this;
    const isLast = last?.passes === passes && last.costs.length === more + 1 && isLike(last.base, base);
    if (isLast) return last.costs;
    const costs = this.computed(base, more);
    this.last = { base, passes, costs };
    return costs;
  }

  private computed({ rows, ms, wideRowMs }: BasePass, more: number): Float64Array {
    const slope = wideRowMs > 0 ? wideRowMs : (ROW_SHARE_UNKNOWN * ms) / rows;
    const costs = new Float64Array(more + 1).fill(ms);
    for (let i = 1, atLeast = ms; i <= more; i++) {
      const own = this.known(rows + i);
      atLeast = own === undefined ? atLeast + slope : Math.max(ms, own);
      costs[i] = atLeast;
    }
    for (let i = more - 1; i > 0; i--) costs[i] = Math.min(costs[i] ?? ms, costs[i + 1] ?? ms);
    return costs;
  }

  private known(rows: number): number | undefined {
    const ms = this.ms[rows] ?? 0;
    return ms === 0 || this.passes - (this.measuredAt[rows] ?? 0) > AGE_MAX ? undefined : ms;
  }
}

function isLike(one: BasePass, other: BasePass): boolean {
  const isNear = Math.abs(one.ms - other.ms) <= NEAR_SHARE * other.ms;
  return isNear && one.rows === other.rows && one.wideRowMs === other.wideRowMs;
}

/** Costs of as many rows as take the time of `tokens` of the sequences' tokens at most, beyond the base. */
export function affordable(costs: Float64Array, rows: number, tokens: number): Float64Array {
  const most = (costs[0] ?? 0) * (1 + tokens / rows);
  const end = costs.findIndex((ms) => ms > most);
  return end < 0 ? costs : costs.subarray(0, Math.max(1, end));
}

/** The least that a further row costs on average, as a share of what a right draft token saves: a step of one of the sequences. */
export function leastRowShare(costs: Float64Array, rows: number): number {
  const base = costs[0] ?? 0;
  let least = Number.POSITIVE_INFINITY;
  costs.forEach((ms, i) => {
    if (i > 0) least = Math.min(least, (ms - base) / i);
  });
  return (least * rows) / base;
}

/**
 * How many of each draft's first tokens are worth a row, by the tokens that a pass yields per millisecond. `chances`: for each
 * draft, the chance that a token and all before it are right.
 */
export function worthwhile(
  chances: readonly (readonly number[])[],
  costs: Float64Array,
  rows: number,
): readonly number[] {
  const order = chances
    .flatMap((draft, at) => draft.map((chance) => ({ chance, at })))
    .toSorted((a, b) => b.chance - a.chance); // stable: tokens of a draft stay in order
  let yieldNow = rows;
  let best = { taken: 0, rate: (GAIN_MIN * rows) / (costs[0] ?? 1) };
  order.slice(0, costs.length - 1).forEach(({ chance }, i) => {
    yieldNow += chance;
    const rate = yieldNow / (costs[i + 1] ?? Number.POSITIVE_INFINITY);
    if (rate > best.rate) best = { taken: i + 1, rate };
  });
  const taken = chances.map(() => 0);
  for (const { at } of order.slice(0, best.taken)) taken[at] = (taken[at] ?? 0) + 1;
  return taken;
}
