// How many draft tokens are worth computing for a sequence. A draft token costs a row of the step and saves a whole step
// when it is accepted; the acceptance rate is learned from the sequence itself. Knows nothing of draft sources.

/** Acceptance rates expected at first, of proposals and of tokens that a grammar dictates, and the weight of one outcome. */
const ACCEPTANCE_START = 0.5;
const ACCEPTANCE_START_DICTATED = 0.9;
const ACCEPTANCE_WEIGHT = 0.15;

/** Where drafts do not pay, one token is drafted after this many sampled ones, to learn whether that has changed. */
const PROBE_TOKENS = 64;

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

  /** Tokens to draft after `known` tokens: the worthwhile ones, or now and then a single probe. */
  wanted(known: number, costRatio: number): number {
    return Math.max(this.worth(costRatio), known >= this.nextProbe ? 1 : 0);
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
