// Finds settings for a model on this machine by trying them. One setting after the other: each is measured with the best
// of those before it.
// Whole engines are measured, since users get scheduler, sampler and two processes; threads only decrease, because new ones would
// inherit one processor. Below 5 % the present value stays.

import { itemAt } from "../core/assert.ts";
import { defined } from "../core/defined.ts";
import type { Rate, RecommendedSettings, TuneMeasurement, TuneProfile, TuneReport } from "../core/measure.ts";
import type { MeasuredEngine } from "./engine.ts";
import { measureAnswer, measurePrompt, measureTexts, type Timed, type Way } from "./load.ts";
import { bestOf, isSteady, rateOf } from "./statistics.ts";

/** Time after which a tuning measures nothing more, milliseconds; what has begun is finished. */
const TUNE_MS_MAX = 5 * 60 * 1000;

/** Engine options that are tuned; the rest is as configured. */
export interface TunedSettings {
  readonly threads: number;
  readonly threadsBatch: number;
  readonly ubatch: number;
  readonly maxSeqs: number;
  /** Room for that many tokens in each sequence. */
  readonly sequenceTokens: number;
  /** Draft tokens of the head in the model's file, 0: none is drafted; absent: as configured. */
  readonly draftTokens?: number;
}

type Shape = Omit<TunedSettings, "sequenceTokens">;

export interface TuneDeps {
  /** Starts an engine. Throws when the model cannot be loaded once more. */
  readonly open: (settings: TunedSettings) => Promise<MeasuredEngine>;
  /** Threads of the first engine; more are not tried. */
  readonly threadsMax: number;
  /** The present setting, which bounds `ubatch`. */
  readonly batch: number;
  /** The present setting. */
  readonly maxSeqs: number;
  /** Whether no setting excludes the head in the model's file as the source of draft tokens. */
  readonly mayDraft: boolean;
  readonly random: () => number;
  /** Monotonic milliseconds. */
  readonly now: () => number;
  readonly onStep: (words: string) => void;
  /** True while requests are answered beside it. */
  readonly isBusy: () => boolean;
  readonly signal: AbortSignal;
}

const REPETITIONS = 3;
const UBATCHES = [128, 256, 512, 1024, 2048] as const;
const SEQUENCES = [1, 2, 4, 8, 16, 32] as const;
const DRAFT_TOKENS = [0, 1, 2, 4, 8] as const;
/** Longer drafts are tried only where this many tokens are the best so far, as on a graphics card. */
const DRAFT_TOKENS_USUAL = 4;
const PROMPT_TOKENS = 512;
const ANSWER_TOKENS = 32;
/** Longest prompt and answer of texts. */
const TEXT_TOKENS_MAX = 128;
/** A prompt that is measured takes about this long, seconds; with a slow model it is shorter. */
const PROMPT_SECS = 5;

/** Share of the speed it has alone that each answer must keep. */
const KEPT_SPEED: Readonly<Record<TuneProfile, number>> = { quality: 0.7, balanced: 0.4, fast: 0 };

/** Speeds of some runs. The best one decides: other processes only slow runs down. */
interface Speed {
  readonly rate: Rate;
  readonly best: number;
  readonly isSteady: boolean;
}

function speedOf(runs: readonly Timed[]): Speed {
  const speeds = runs.map(({ speed }) => speed);
  return { rate: rateOf(speeds), best: Math.max(...speeds), isSteady: isSteady(speeds) };
}

/** Measures and recommends. Throws what `open` throws, the engine's reason, or the signal's. */
export async function tune(id: string, profile: TuneProfile, deps: TuneDeps): Promise<TuneReport> {
  const tuning = new Tuning(deps);
  const recommended = await tuning.run(profile);
  const { rows, complete, disturbed } = tuning;
  const undecided = [...tuning.undecided];
  return {
    model_id: id,
    profile,
    measurements: rows,
    recommended,
    toml: toToml(recommended, undecided),
    undecided,
    complete,
    disturbed,
  };
}

/** One tuning: what is measured so far, and whether there is time for more. */
class Tuning {
  readonly rows: TuneMeasurement[] = [];
  readonly undecided = new Set<keyof RecommendedSettings>();
  complete = true;
  disturbed = false;
  private readonly deps: TuneDeps;
  private readonly way: Way;
  private readonly endMs: number;
  private promptTokens = PROMPT_TOKENS;
  private hasHead = false;

  constructor(deps: TuneDeps) {
    this.deps = deps;
    this.way = { repetitions: REPETITIONS, random: deps.random, signal: deps.signal };
    this.endMs = deps.now() + TUNE_MS_MAX;
  }

  async run(profile: TuneProfile): Promise<RecommendedSettings> {
    const { threadsMax, batch } = this.deps;
    const start = {
      threads: threadsMax,
      threadsBatch: threadsMax,
      ubatch: Math.min(PROMPT_TOKENS, batch),
      maxSeqs: 1,
    };
    const { threads, threadsBatch } = await this.threads(start);
    const ubatch = await this.ubatch({ ...start, threads, threadsBatch });
    const chosen = { ...start, threads, threadsBatch, ubatch };
    const drafts = this.hasHead && this.deps.mayDraft ? await this.drafts(chosen) : undefined;
    const maxSeqs = await this.sequences({ ...chosen, ...defined({ draftTokens: drafts }) }, profile);
    return {
      threads,
      threads_batch: threadsBatch,
      ubatch,
      ...defined({ mtp_n_predict: drafts }),
      max_seqs: maxSeqs,
    };
  }

  private async threads(start: Shape): Promise<Pick<TunedSettings, "threads" | "threadsBatch">> {
    const reading: [number, number][] = [];
    const writing: [number, number][] = [];
    await this.with({ ...start, sequenceTokens: 2 * PROMPT_TOKENS }, async (engine) => {
      this.hasHead = engine.hasHead;
      this.promptTokens = await this.fittingPrompt(engine);
      for (const count of halves(this.deps.threadsMax)) {
        if (this.isLate(writing.length)) break;
        this.deps.onStep(`threads ${count}`);
        engine.setThreads(count, count);
        const prompt = await this.prompt(engine, this.promptTokens);
        const answer = await this.answer(engine, 1);
        this.note("threads", count, prompt, answer);
        this.needs("threads", answer);
        this.needs("threads_batch", prompt);
        reading.unshift([count, prompt.best]);
        writing.unshift([count, answer.best]);
      }
    });
    return {
      threads: this.decided("threads", bestOf(writing, start.threads), start.threads),
      threadsBatch: this.decided("threads_batch", bestOf(reading, start.threadsBatch), start.threadsBatch),
    };
  }

  private async ubatch(start: Shape): Promise<number> {
    const measured: [number, number][] = [];
    // Beyond the length of the prompt more room changes nothing.
    const longest = this.promptTokens < PROMPT_TOKENS ? this.promptTokens : Math.max(...UBATCHES);
    const candidates = UBATCHES.filter((size) => size <= Math.min(this.deps.batch, longest));
    for (const size of candidates) {
      if (this.isLate(measured.length)) break;
      this.deps.onStep(`ubatch ${size}`);
      await this.with({ ...start, ubatch: size, sequenceTokens: longest + 1 }, async (engine) => {
        const tokens = Math.min(longest, engine.contextTokens - 1);
        if (measured.length > 0 && size > tokens) return;
        const prompt = await this.prompt(engine, tokens);
        this.note("ubatch", size, prompt, undefined);
        this.needs("ubatch", prompt);
        measured.push([size, prompt.best]);
      });
    }
    return this.decided("ubatch", bestOf(measured, start.ubatch), start.ubatch);
  }

  /** Draft tokens for answers to readable texts: the acceptance rate depends on what is written. */
  private async drafts(start: Shape): Promise<number> {
    const measured: [number, number][] = [];
    for (const count of DRAFT_TOKENS) {
      if (this.isLate(measured.length)) break;
      if (count > DRAFT_TOKENS_USUAL && bestOf(measured, 0) !== DRAFT_TOKENS_USUAL) break;
      this.deps.onStep(`mtp_n_predict ${count}`);
      const settings = { ...start, draftTokens: count, sequenceTokens: 2 * TEXT_TOKENS_MAX };
      await this.with(settings, async (engine) => {
        const tokens = Math.min(TEXT_TOKENS_MAX, Math.floor(engine.contextTokens / 2));
        const answer = speedOf(await measureTexts(engine, tokens, this.way));
        this.note("mtp_n_predict", count, undefined, answer);
        this.needs("mtp_n_predict", answer);
        measured.push([count, answer.best]);
      });
    }
    return this.decided("mtp_n_predict", bestOf(measured, 0), 0);
  }

  private async sequences(start: Shape, profile: TuneProfile): Promise<number> {
    const measured: [number, number][] = [];
    const maxSeqs = Math.max(...SEQUENCES);
    await this.with({ ...start, maxSeqs, sequenceTokens: 2 * ANSWER_TOKENS }, async (engine) => {
      for (const count of SEQUENCES) {
        if (this.isLate(measured.length)) break;
        this.deps.onStep(`max_seqs ${count}`);
        const answer = await this.answer(engine, count);
        this.note("max_seqs", count, undefined, answer);
        this.needs("max_seqs", answer);
        measured.push([count, answer.best]);
      }
    });
    return this.decided("max_seqs", chooseSequences(measured, profile), this.deps.maxSeqs);
  }

  /** A setting cannot be decided by runs that do not agree. */
  private needs(setting: keyof RecommendedSettings, { isSteady: agrees }: Speed): void {
    if (!agrees) this.undecided.add(setting);
  }

  private decided(setting: keyof RecommendedSettings, best: number | undefined, present: number): number {
    return best === undefined || this.undecided.has(setting) ? present : best;
  }

  private async with(
    settings: TunedSettings,
    work: (engine: MeasuredEngine) => Promise<void>,
  ): Promise<void> {
    const engine = await this.deps.open(settings);
    try {
      await work(engine);
    } finally {
      await engine.stop();
    }
  }

  /** Tokens of a prompt that takes a bearable time, at most half the context. */
  private async fittingPrompt(engine: MeasuredEngine): Promise<number> {
    const most = Math.min(PROMPT_TOKENS, Math.floor(engine.contextTokens / 2));
    const probe = Math.min(64, most);
    const way = { ...this.way, repetitions: 1 };
    const [run] = await measurePrompt(engine, { tokens: probe, depth: 0, concurrency: 1 }, way);
    return Math.max(probe, Math.min(most, Math.floor((run?.speed ?? 0) * PROMPT_SECS)));
  }

  private async prompt(engine: MeasuredEngine, tokens: number): Promise<Speed> {
    return speedOf(await measurePrompt(engine, { tokens, depth: 0, concurrency: 1 }, this.way));
  }

  private async answer(engine: MeasuredEngine, concurrency: number): Promise<Speed> {
    const tokens = Math.min(ANSWER_TOKENS, engine.contextTokens - 2);
    return speedOf(await measureAnswer(engine, { tokens, depth: 0, concurrency }, this.way));
  }

  private note(
    setting: TuneMeasurement["setting"],
    value: number,
    prompt: Speed | undefined,
    answer: Speed | undefined,
  ): void {
    this.disturbed ||= this.deps.isBusy();
    this.rows.push({
      setting,
      value,
      prompt_tokens_per_second: prompt?.rate ?? null,
      answer_tokens_per_second: answer?.rate ?? null,
    });
  }

  /** Whether a list with `count` values gets no more for lack of time. Each gets at least one. */
  private isLate(count: number): boolean {
    if (count === 0 || this.deps.now() < this.endMs) return false;
    this.complete = false;
    return true;
  }
}

/** n, n/2, n/4 … 1. */
function halves(count: number): readonly number[] {
  return count <= 1 ? [1] : [count, ...halves(Math.floor(count / 2))];
}

/**
 * The most sequences with which each still keeps its share of the speed it has alone; never more than what all of them
 * together gain from. `measured`: total tokens a second by number of sequences, ascending.
 */
export function chooseSequences(
  measured: readonly (readonly [number, number])[],
  profile: TuneProfile,
): number {
  const [, alone] = itemAt(measured, 0);
  const fastest = bestOf(measured) ?? 1;
  const kept = measured.filter(
    ([count, total]) => count <= fastest && total / count >= alone * KEPT_SPEED[profile],
  );
  return kept.at(-1)?.[0] ?? 1;
}

function toToml(settings: RecommendedSettings, undecided: readonly string[]): string {
  const lines = Object.entries(settings)
    .filter(([key]) => !undecided.includes(key))
    .flatMap(([key, value]) => {
      if (key !== "mtp_n_predict") return [`${key} = ${value}`];
      return value === 0 ? ['speculative = "off"'] : ['speculative = "mtp"', `${key} = ${value}`];
    });
  return `[runtime]\n${lines.map((line) => `${line}\n`).join("")}`;
}
