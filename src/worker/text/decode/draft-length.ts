// How many draft tokens are worth computing for a sequence. A draft token costs a row of the step and saves a whole step
// when it is accepted; the acceptance rate is learned from the sequence itself. Knows nothing of draft sources.

/** Acceptance rates expected at first, of proposals and of tokens that a grammar dictates, and the weight of one outcome. */
const ACCEPTANCE_START = 0.5;
const ACCEPTANCE_START_DICTATED = 0.9;
const ACCEPTANCE_WEIGHT = 0.15;
const ACCEPTANCE_MAX = 0.997;
/** The same weight where the outcomes of all sequences are one stream. */
const COMMON_WEIGHT = 0.06;

/** Where drafts do not pay, one token is drafted after this many sampled ones, to learn whether that has changed. */
const PROBE_TOKENS = 64;
/** What the probes of all sequences may cost together, as a share of all tokens. */
const PROBE_SHARE = 0.01;

/** Tokens whose time an answer may lose by drafts: at first, and for each of its tokens. */
const LOSS_FIRST = 1.5;
const LOSS_SHARE = 0.01;

/** Of one sequence. */
export interface DraftLengths {
  readonly proposed: DraftLength;
  /** Of tokens that a grammar dictates. */
  readonly dictated: DraftLength;
  readonly credit: DraftCredit;
}

export function newDraftLengths(): DraftLengths {
  return {
    proposed: new DraftLength(),
    dictated: new DraftLength(ACCEPTANCE_START_DICTATED),
    credit: new DraftCredit(),
  };
}

/** Of the drafts of all sequences of an engine: what new ones may expect. */
export type CommonLengths = Omit<DraftLengths, "credit">;

export function commonDraftLengths(): CommonLengths {
  return {
    proposed: new DraftLength(ACCEPTANCE_START, COMMON_WEIGHT),
    dictated: new DraftLength(ACCEPTANCE_START_DICTATED, COMMON_WEIGHT),
  };
}

export class DraftLength {
  private acceptance: number;
  private readonly weight: number; // of one outcome
  private nextProbe = 0; // known tokens
  private isNew = true;

  constructor(acceptance = ACCEPTANCE_START, weight = ACCEPTANCE_WEIGHT) {
    this.acceptance = acceptance;
    this.weight = weight;
  }

  /** Expects what other sequences have seen, before it has outcomes of its own, but for less than half. */
  expect({ rate }: DraftLength): void {
    if (this.isNew) this.acceptance = Math.max(ACCEPTANCE_START, rate);
  }

  /** Share of the draft tokens that are accepted, of those whose predecessors are. */
  get rate(): number {
    return this.acceptance;
  }

  /** Draft tokens worth computing. `costRatio`: cost of a draft token as a share of what it saves when it is accepted. */
  worth(costRatio: number): number {
    if (costRatio <= 0) return Number.POSITIVE_INFINITY;
    return Math.max(0, Math.floor(Math.log(costRatio) / Math.log(this.acceptance)));
  }

  /** Tokens to draft after `known` tokens: the worthwhile ones, or now and then a single probe, if `mayProbe`. */
  wanted(known: number, costRatio: number, mayProbe: boolean): number {
    return Math.max(this.worth(costRatio), mayProbe && this.isProbeDue(known) ? 1 : 0);
  }

  isProbeDue(known: number): boolean {
    return known >= this.nextProbe;
  }

  /** A draft was made after `known` tokens. */
  drafted(known: number): void {
    this.nextProbe = known + PROBE_TOKENS;
  }

  /** `accepted` tokens of a draft were accepted; unless `all` were, the one after them was rejected. */
  learn(accepted: number, all: boolean): void {
    this.isNew = false;
    for (let i = 0; i < accepted; i++) this.acceptance += this.weight * (ACCEPTANCE_MAX - this.acceptance);
    if (!all) this.acceptance -= this.weight * this.acceptance;
  }
}

/**
 * What drafts of an answer may still cost, in the time of its tokens: what they have saved, and a little. Whatever is expected of them, no
 * answer becomes slower by more.
 */
export class DraftCredit {
  private saved = 0; // less what was spent

  /** After `generated` tokens. */
  left(generated: number): number {
    return LOSS_FIRST + LOSS_SHARE * generated + this.saved;
  }

  /** A draft saved and took the time of `saved` and `spent` tokens. */
  settled(saved: number, spent: number): void {
    this.saved += saved - spent;
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

/** What became of a draft. */
export interface DraftVerdict {
  /** Tokens. */
  readonly length: number;
  /** [length] whether a grammar dictated them; empty for a draft of proposals alone. */
  readonly dictated: readonly boolean[];
  readonly accepted: number;
  /** The grammar refuses the token that was proposed after them, which took time: a miss where all before it are right. */
  readonly isRefused: boolean;
}

/** A verified draft says something of the next ones of its sequence, and of others. */
export function learnDraft(
  { proposed, dictated, credit }: DraftLengths,
  common: CommonLengths,
  { length, dictated: kinds, accepted, isRefused }: DraftVerdict,
): void {
  credit.settled(accepted, 0);
  const held = kinds.slice(0, accepted).filter(Boolean).length;
  const isAll = accepted === length;
  const isDictated = kinds[accepted] === true;
  for (const one of [dictated, common.dictated]) one.learn(held, isAll || !isDictated);
  const isMissed = isAll ? isRefused : !isDictated;
  for (const one of [proposed, common.proposed]) one.learn(accepted - held, !isMissed);
}
