// How many draft tokens are worth computing for a sequence. A draft token costs a row of the step and saves a whole step
// when it is accepted; the acceptance rate is learned from the sequence itself. Knows nothing of draft sources.

/** Acceptance rates expected at first, of proposals and of tokens that a grammar dictates, and the weight of one outcome. */
const ACCEPTANCE_START = 0.5;
const ACCEPTANCE_START_DICTATED = 0.9;
const ACCEPTANCE_WEIGHT = 0.15;

/** Where drafts do not pay, one token is drafted after this many sampled ones, to learn whether that has changed. */
const PROBE_TOKENS = 64;
/** What the probes of all sequences may cost together, as a share of all tokens. */
const PROBE_SHARE = 0.01;

/** Of one sequence. */
export interface DraftLengths {
  readonly proposed: DraftLength;
  /** Of tokens that a grammar dictates. */
  readonly dictated: DraftLength;
}

export function newDraftLengths(): DraftLengths {
  return { proposed: new DraftLength(), dictated: new DraftLength(ACCEPTANCE_START_DICTATED) };
}

export class DraftLength {
  private acceptance: number;
  private nextProbe = 0; // known tokens

  constructor(acceptance = ACCEPTANCE_START) {
    this.acceptance = acceptance;
  }

  /** Draft tokens worth computing. `costRatio`: cost of a draft token as a share of what it saves when it is accepted. */
  worth(costRatio: number): number {
    if (costRatio <= 0) return Number.POSITIVE_INFINITY;
    return Math.max(0, Math.floor(Math.log(costRatio) / Math.log(this.acceptance)));
  }

  /** Tokens to draft after `known` tokens: the worthwhile ones, or now and then a single probe, if `mayProbe`. */
  wanted(known: number, costRatio: number, mayProbe: boolean): number {
    return Math.max(this.worth(costRatio), mayProbe && known >= this.nextProbe ? 1 : 0);
  }

  /** A draft was made after `known` tokens. */
  drafted(known: number): void {
    this.nextProbe = known + PROBE_TOKENS;
  }

  /** `accepted` tokens of a draft were accepted; unless `all` were, the one after them was rejected. */
  learn(accepted: number, all: boolean): void {
    for (let i = 0; i < accepted; i++) this.acceptance += ACCEPTANCE_WEIGHT * (0.99 - this.acceptance);
    if (!all) this.acceptance -= ACCEPTANCE_WEIGHT * this.acceptance;
  }
}

/** When sequences may probe. One row more can cost as much as eight, so where probes are dear they wait for each other. */
export class ProbeBudget {
  private sampled = 0;
  private cost = 0;

  get isOpen(): boolean {
    return this.sampled * PROBE_SHARE >= this.cost;
  }

  /** A step samples `tokens`. */
  stepped(tokens: number): void {
    this.sampled += tokens;
  }

  /** Probes took the time of `tokens`. */
  spent(tokens: number): void {
    this.sampled = 0;
    this.cost = tokens;
  }
}
