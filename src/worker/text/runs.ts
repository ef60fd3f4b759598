// The runs in the engine from admission to their terminal event: starts their choices, appends sampled tokens, ends and
// fails them. Decides nothing about steps.

import type { ErrorData } from "../../core/error.ts";
import { type FinishReason, mustCall } from "../../core/run.ts";
import type { RunId } from "../../engine/protocol.ts";
import { toErrorData } from "../shared/error-data.ts";
import type { Arrival } from "./arrivals.ts";
import type { DraftKind } from "./decode/speculative.ts";
import type { Backend, RenderedPrompt } from "./backend.ts";
import { awaitsGrammar, beginCalls, type EngineSequence, type MatcherSet } from "./choice.ts";
import type { Logprobs } from "./logprobs.ts";
import { chunksFrom, cutFrom } from "./media-layout.ts";
import { type ChoiceStart, newChoice } from "./new-choice.ts";
import type { PromptEcho } from "./prompt-echo.ts";
import { checkRequest, type Emit, type OutputTools, planLength, RunState } from "./run-state.ts";
import type { RunningSet } from "./running-set.ts";
import type { PlannedRows } from "./scheduler.ts";
import type { StepMeter } from "./step-meter.ts";

export interface RunsDeps extends OutputTools {
  readonly backend: Backend;
  readonly runningSet: RunningSet;
  readonly logprobs: Logprobs;
  readonly echo: PromptEcho;
  readonly drafts: DraftKind;
  readonly meter: Pick<StepMeter, "thoughtClosed">;
  readonly emit: Emit;
  /** Monotonic milliseconds. */
  readonly now: () => number;
  readonly newSeed: () => number;
}

const ENGINE_FAILED: ErrorData = {
  code: "engine_failed",
  message: "the model's engine could not compute this request; it has been reset; send the request again",
};

export class Runs {
  private readonly deps: RunsDeps;
  /** Sequences whose grammars are being compiled. */
  private readonly compiling = new Set<EngineSequence>();
  private readonly ended = new WeakSet<EngineSequence>();

  constructor(deps: RunsDeps) {
    this.deps = deps;
  }

  /** Starts a run whose prompt is rendered. It owns the matchers if this returns; what it throws is the run's error. */
  accept(arrival: Arrival, prompt: RenderedPrompt, matchers: MatcherSet): void {
    const { backend, emit, now, newSeed } = this.deps;
    const { request } = arrival;
    checkRequest(request, backend);
    if (request.countOnly === true) {
      new RunState(arrival, prompt, { drop: 0, cap: 0 }, emit).finish(now());
      matchers.free();
      return;
    }
    const { drop, cap } = planLength(prompt.tokens.length, request, backend.contextTokens);
    const cut = cutFrom(prompt.media, drop);
    const run = new RunState(arrival, prompt, { drop: cut, cap }, emit, matchers.unenforced);
    const tokens = prompt.tokens.subarray(cut);
    const media = chunksFrom(prompt.media, cut);
    const seed = request.sampling.seed ?? newSeed();
    const closes = request.prompt.type === "chat" && mustCall(request.prompt) && request.ignoreEnd !== true;
    try {
      for (let choice = 0; choice < request.choices; choice++) {
        const own = choice === 0 ? matchers : matchers.clone();
        this.addChoice({ run, choice, ...own.hold(prompt, closes), tokens, media, seed });
      }
    } catch (error) {
      this.fail(run, toErrorData(error));
    }
  }

  private addChoice(start: ChoiceStart): void {
    const sequence = newChoice(start, this.deps);
    const { request, tokenCap } = start.run;
    // An echo without log probabilities needs no computation. Without an echo, the prompt is computed even if the cap is 0.
    const isEcho = tokenCap === 0 && request.echo === true && !sequence.scoresPrompt;
    if (isEcho) this.endChoice(sequence, "length", false, this.deps.now());
    else {
      this.deps.runningSet.add(sequence);
      if (sequence.owner.calls?.grammar.isPending === true) this.compiling.add(sequence);
    }
  }

  /** Takes compiled grammars, waiting up to `waitMs` for one that a next token needs. Whether it has waited for one. */
  takeGrammars(waitMs: number): boolean {
    let waited = false;
    for (const sequence of this.compiling) {
      const { run, calls } = sequence.owner;
      const isAwaited = awaitsGrammar(sequence);
      const error = calls?.grammar.take(isAwaited && !waited ? waitMs : 0);
      waited ||= isAwaited;
      if (error === undefined && calls?.grammar.isPending === true) continue;
      this.compiling.delete(sequence);
      const callError = error ?? beginCalls(sequence);
      if (callError !== undefined) this.fail(run, callError);
    }
    return waited;
  }

  /** Reports how far the prompts are that a step goes on with. */
  reportPrompts(rows: readonly PlannedRows<EngineSequence>[]): void {
    for (const { sequence } of rows) {
      const { run, output } = sequence.owner;
      const isFirst = output.index === 0 && sequence.generated === 0;
      if (isFirst && run.request.progress !== undefined) run.reportPrompt(sequence.computed, this.deps.now());
    }
  }

  /** Reports the places of runs whose sequences wait for a slot, the oldest first. */
  reportWaits(waiting: readonly EngineSequence[]): void {
    if (waiting.length === 0) return;
    const runs = new Set(waiting.map(({ owner }) => owner.run));
    let ahead = 0;
    for (const run of runs) run.reportWait(ahead++);
  }

  /** Appends a sampled token to its sequence and ends the choice where it must. `row` has the token's logits. */
  takeToken(sequence: EngineSequence, token: number, row: number, nowMs: number): void {
    if (this.ended.has(sequence)) return; // another choice of its run failed in this step
    const { backend, logprobs } = this.deps;
    const { run, output, guard, fingerprint, skip } = sequence.owner;
    if (token < 0) return this.fail(run, guard?.failure() ?? ENGINE_FAILED);
    if (run.tokenCap === 0) return this.endChoice(sequence, "length", false, nowMs); // only the prompt was wanted
    if (skip !== undefined && sequence.generated === 0) return this.giveTokens(sequence, skip, nowMs);
    sequence.append(token);
    run.tokenDrawn(nowMs);
    fingerprint?.add(token, backend.logprobs(row, token, 0).logprob);
    if (this.ends(run, token)) return this.endChoice(sequence, "stop", false, nowMs);
    const { logprobs: wanted } = run.request;
    if (wanted !== undefined) output.noteLogprob(logprobs.at(row, token, wanted.top));
    this.tellToken(sequence, token, nowMs);
  }

  /**
   * Appends a sampled token whose text can wait until `tellToken`: the next pass may begin without it, since nothing else can end the
   * choice, and no grammar decides about the next token. False: nothing was done.
   */
  takeUntold(sequence: EngineSequence, token: number, nowMs: number): boolean {
    const { run, guard, fingerprint, skip } = sequence.owner;
    const { logprobs, lineDeadlineMs } = run.request;
    if (token < 0 || sequence.generated + 1 >= run.tokenCap || this.ended.has(sequence)) return false;
    if (guard !== undefined || fingerprint !== undefined || logprobs !== undefined) return false;
    if (lineDeadlineMs !== undefined || this.ends(run, token) || skip !== undefined) return false;
    sequence.append(token);
    run.tokenDrawn(nowMs);
    return true;
  }

  /** Passes on the text of the last token of a sequence, and ends the choice where it must. */
  tellToken(sequence: EngineSequence, token: number, nowMs: number): void {
    if (this.ended.has(sequence)) return;
    const { backend } = this.deps;
    const { run, output, guard, thinkingLimit } = sequence.owner;
    const wasReasoning = output.inReasoning;
    const bytes = backend.tokenBytes(token, run.prompt.format.visibleTokens.has(token));
    const stopped = output.push(token, bytes, guard);
    if (wasReasoning || output.inReasoning) run.reasoned(1);
    if (stopped) return this.endChoice(sequence, "stop", true, nowMs);
    const guardError = guard?.accept(token, bytes, output.answering);
    if (guardError !== undefined) return this.fail(run, guardError);
    const callError = beginCalls(sequence);
    if (callError !== undefined) return this.fail(run, callError);
    const end = thinkingLimit?.noted(output, sequence.generated, guard);
    if (end !== undefined) this.giveTokens(sequence, end, nowMs);
    else if (run.isSpent(sequence.generated, bytes, nowMs)) this.endChoice(sequence, "length", false, nowMs);
  }

  private ends({ request }: RunState, token: number): boolean {
    return this.deps.backend.endsGeneration(token) && request.ignoreEnd !== true;
  }

  /** Appends the end of reasoning, or what stands for it, to a sequence. The next step computes it in one pass, as after a preemption. */
  private giveTokens(sequence: EngineSequence, tokens: Int32Array, nowMs: number): void {
    const { backend, meter } = this.deps;
    const { run, output, guard, fingerprint } = sequence.owner;
    backend.acceptForced(sequence.sampler, tokens);
    run.thoughtClosed();
    meter.thoughtClosed();
    if (tokens !== sequence.owner.skip) run.reasoned(tokens.length);
    for (const token of tokens) {
      sequence.append(token);
      run.tokenDrawn(nowMs);
      fingerprint?.add(token, 0); // certain
      const bytes = backend.tokenBytes(token, run.prompt.format.visibleTokens.has(token));
      if (output.push(token, bytes, guard)) return this.endChoice(sequence, "stop", true, nowMs);
      const error = guard?.accept(token, bytes, output.answering);
      if (error !== undefined) return this.fail(run, error);
    }
  }

  /** Ends a run: its last event says how far it came. */
  abort(id: RunId): void {
    const own = this.deps.runningSet.all().filter(({ owner }) => owner.run.id === id);
    const computed = Math.max(0, ...own.map((sequence) => sequence.computed));
    for (const sequence of own) this.release(sequence, true);
    own[0]?.owner.run.finish(this.deps.now(), computed);
  }

  /** Fails the runs of sequences that could not be computed. */
  failAll(sequences: readonly EngineSequence[]): void {
    for (const run of new Set(sequences.map(({ owner }) => owner.run))) this.fail(run, ENGINE_FAILED);
  }

  private fail(run: RunState, error: ErrorData): void {
    for (const sequence of this.deps.runningSet.all()) {
      if (sequence.owner.run === run) this.release(sequence, false);
    }
    run.fail(error);
  }

  private endChoice(sequence: EngineSequence, reason: FinishReason, stopped: boolean, nowMs: number): void {
    const { run, output } = sequence.owner;
    output.end(reason, stopped, sequence.owner.fingerprint?.digest());
    this.release(sequence, true);
    run.choiceEnded(nowMs);
  }

  /** Removes a sequence from the engine and frees what it holds. `keep`: its prefix stays in the cache for others. */
  private release(sequence: EngineSequence, keep: boolean): void {
    const { runningSet, backend } = this.deps;
    this.ended.add(sequence);
    runningSet.release(sequence, keep);
    backend.freeSampler(sequence.sampler);
    sequence.owner.guard?.free();
    sequence.owner.calls?.grammar.free();
    this.compiling.delete(sequence);
  }
}
