// Whether looks for drafts under grammars pay: what a token takes in steps that look and in steps that do not, all counted, masks, wider
// passes and refused tokens. Both are measured, and the cheaper way is gone. Times are shares of the estimate of a plain pass, so that they hold
// while contexts grow. Knows nothing of single drafts.

/** Weight of a step. */
const STEP_WEIGHT = 0.05;
/** What looks must gain: answers that have drafts end before those beside them, which then have passes of fewer rows. */
const GAIN_MIN = 1.02;
/** Steps of a trial of the other way, least steps between two, and what trials may cost. */
const TRIAL_STEPS = 8;
const TRIAL_EVERY = 128;
const TRIAL_LOSS_MAX = 0.01;
/** A step that takes this many times what others do, and a pass more for each draft token of a sequence, was held up. */
const SLOWER_MAX = 3;
/** Of a token in a step that looks, before one was measured. */
const PRICE_FIRST = 0.9;

/** What a token takes in steps of one kind, as a share of a plain pass: means of their times and of their tokens for each sequence. */
class Price {
  private time: number;
  private tokens = 1;

  constructor(first: number) {
    this.time = first;
  }

  get value(): number {
    return this.time / this.tokens;
  }

  /** A step of one more token of each sequence, and of `drafted` and `accepted` ones. */
  learn(time: number, drafted: number, accepted: number): void {
    this.time += STEP_WEIGHT * (Math.min(time, SLOWER_MAX * this.time + drafted) - this.time);
    this.tokens += STEP_WEIGHT * (1 + accepted - this.tokens);
  }
}

/** Of steps with about as many sequences. */
interface Ways {
  readonly looking: Price;
  readonly plain: Price;
  /** Since the last trial of the other way ended. */
  steps: number;
}

/** A step under way that may look. */
interface Step {
  readonly ways: Ways;
  readonly sequences: number;
  readonly plainMs: number;
  looked: boolean;
}

/** The outcome of a step's drafts. */
export interface Drafted {
  readonly drafted: number;
  readonly accepted: number;
}

const NOTHING: Drafted = { drafted: 0, accepted: 0 };

export class LookGain {
  private readonly ways = new Map<number, Ways>();
  private step: Step | undefined;
  private before: Pick<Step, "ways" | "looked"> | undefined;

  /** Whether a step looks in which grammars apply to some of the sequences. `plainMs`: estimate of a pass without drafts. */
  begin(sequences: number, plainMs: number): boolean {
    const ways = this.waysOf(sequences);
    this.step = { ways, sequences, plainMs, looked: false };
    const gain = ways.plain.value / ways.looking.value;
    const isBetter = gain >= GAIN_MIN;
    const loss = (isBetter ? gain : 1 / gain) - 1;
    const every = Math.max(TRIAL_EVERY, (TRIAL_STEPS * loss) / TRIAL_LOSS_MAX);
    const isTrial = ways.steps++ >= every;
    if (ways.steps >= every + TRIAL_STEPS) ways.steps = 0;
    return isBetter !== isTrial;
  }

  /** The step under way has looked. */
  looked(): void {
    if (this.step !== undefined) this.step.looked = true;
  }

  /** A step took `ms`, all counted. */
  stepped(ms: number, { drafted, accepted } = NOTHING): void {
    const { step, before } = this;
    this.step = undefined;
    this.before = step;
    if (step === undefined) return;
    const { ways, sequences, plainMs, looked } = step;
    // A pass of another width than the one before takes longer, which is the price of that one.
    if (before?.ways !== ways || before.looked !== looked) return;
    const price = looked ? ways.looking : ways.plain;
    price.learn(ms / plainMs, drafted / sequences, accepted / sequences);
  }

  private waysOf(sequences: number): Ways {
    const key = Math.ceil(Math.log2(sequences));
    const ways = this.ways.get(key) ?? { looking: new Price(PRICE_FIRST), plain: new Price(1), steps: 0 };
    this.ways.set(key, ways);
    return ways;
  }
}
