// Speculative decoding: draft tokens are computed after a sequence's last known token, and each is kept while it equals
// the token sampled at its place. Every token is sampled from the model's own logits, under the mask of its place, so drafts
// change the speed of an answer and nothing else (Leviathan et al. 2023, with deterministic drafts).

import { assert } from "../../../core/assert.ts";
import type { Backend, DecodeOutcome } from "../backend.ts";
import type { EngineSequence } from "../choice.ts";
import { NO_DRAFT } from "../sequence.ts";
import type { KvCache } from "../kv.ts";
import type { PlannedRows } from "../scheduler.ts";
import { draftCostRatio, measuredDraft } from "../step-cost.ts";
import type { DraftOutcome } from "../step-meter.ts";
import type { DraftBalance } from "./draft-balance.ts";
import { bestLevel } from "./draft-level.ts";
import { commonDraftLengths, learnDraft, ProbeBudget } from "./draft-length.ts";
import { type DraftSource, DraftModelSource, NO_PROPOSALS, LookupSource } from "./draft-source.ts";
import { firstOf, GrammarDrafts, type GuardedDraft, NO_GUARDED_DRAFT } from "./grammar-draft.ts";
import type { DecodeContext, DecodeMode, DecodeStep } from "./mode.ts";
import { affordable, leastRowShare, RowCosts, worthwhile } from "./row-costs.ts";
import { maskAddress, tokenPass } from "./token-pass.ts";
import { isAccepted, takeSampled, type Verified } from "./verified.ts";

/** Draft tokens of one step: each needs a row of logits, vocabulary × 4 bytes. */
const DRAFT_ROWS_MAX = 32;

/** Tokens that a grammar dictates in one draft. */
const DICTATED_MAX = 16;

type Rows = readonly PlannedRows<EngineSequence>[];

/** The drafts of a step. */
interface Drafts {
  /** Tokens in the sequences' drafts. */
  readonly tokens: number;
  /** Draft tokens whose computation took time; an empty draft of a costly source counts as one. */
  readonly charged: number;
  /** Tokens in the drafts of sequences for which none are worthwhile. */
  readonly probes: number;
}

const NO_DRAFTS: Drafts = { tokens: 0, charged: 0, probes: 0 };

/**
 * grammar: tokens that grammars dictate; auto: not in greedy answers, which should be the same each time: wider passes round
 * differently. ngram: what followed the last tokens before, besides.
 */
export type DraftKind = "off" | "auto" | "grammar" | "ngram";

/** Where a backend's proposals come from: its draft model, else as `kind` says; undefined for no drafts at all. */
export function draftSourceOf(
  backend: Backend,
  kv: KvCache,
  balance: DraftBalance,
  kind: DraftKind,
): DraftSource | undefined {
  if (backend.draftModel !== undefined) return new DraftModelSource(backend.draftModel, balance);
  if (kind === "off" || backend.reuse !== "prefix") return undefined; // rejected draft tokens must leave the cache
  return kind === "ngram" ? new LookupSource((sequence) => kv.finishedBeside(sequence)) : NO_PROPOSALS;
}

export class SpeculativeDecode implements DecodeMode {
  private readonly context: DecodeContext;
  private readonly source: DraftSource;
  private readonly budget: number;
  private readonly grammars: GrammarDrafts;
  /** Drafts of this step under a grammar. */
  private readonly guarded = new Map<EngineSequence, GuardedDraft>();
  /** Tokens at the ends of drafts of this step that were not proposed. */
  private readonly fillers = new Map<EngineSequence, number>();
  private readonly probeBudget = new ProbeBudget();
  private readonly common = commonDraftLengths();
  /** What sampling tokens after right draft tokens took in this step. */
  private verifyMs = 0;
  /** Of steps with drafts that take no time to make. */
  private readonly rowCosts = new RowCosts();

  /** `budget`: rows of one pass. */
  constructor(context: DecodeContext, source: DraftSource, budget: number) {
    this.context = context;
    this.source = source;
    this.budget = budget;
    this.grammars = new GrammarDrafts(context.backend, context.constraints);
  }

  decode({ rows, startMs }: DecodeStep): DecodeOutcome | undefined {
    const { context } = this;
    const { tokens, charged, probes } = this.levelled(rows, this.draft(rows));
    this.probeBudget.stepped(rows.length);
    // Tokens of a draft model are charged with the time of their steps.
    const makingMs = this.source.isCostly ? 0 : context.now() - startMs;
    context.balance.made(makingMs);
    if (charged === 0) return undefined;
    const result = tokenPass(context, this.ordered(rows));
    if (typeof result === "string") return result;
    for (const { sequence } of rows) context.kv.extendBeyond(sequence, sequence.draft.length);
    const { batch, meter } = context;
    const nowMs = context.now();
    const ms = nowMs - startMs;
    const ownMs = context.balance.stepped(ms);
    const { decodeMs } = context.cost;
    if (this.source.isCostly) context.cost = measuredDraft(context.cost, ownMs, charged);
    else this.rowCosts.measured(rows.length + tokens, ownMs);
    if (probes > 0) this.probeBudget.spent(this.rowsCost(rows, tokens, probes));
    if (!this.source.isCostly) this.pay(rows, tokens, makingMs);
    meter.stepped(ms, batch.count, batch.count - result.continued - tokens, batch.drawn.length);
    const outcome = this.takeTokens(nowMs);
    meter.drafted(outcome);
    context.looks.stepped(ms + this.verifyMs, outcome);
    context.balance.add((outcome.accepted * decodeMs) / rows.length - (ownMs - decodeMs));
    return "done";
  }

  /** What the last `count` of a step's draft tokens took, as tokens of the sequences. */
  private rowsCost(rows: Rows, tokens: number, count: number): number {
    const costs = this.costsOf(rows, tokens);
    const [base = 1] = costs;
    const ms = (costs[tokens] ?? base) - (costs[tokens - count] ?? base);
    return (ms * rows.length) / base;
  }

  /** Takes the time of the step's drafts, `makingMs` included, from what their answers may lose. */
  private pay(rows: Rows, tokens: number, makingMs: number): void {
    const made = (makingMs * rows.length) / this.context.cost.decodeMs;
    const spent = (this.rowsCost(rows, tokens, tokens) + made) / tokens;
    for (const { sequence } of rows) sequence.owner.drafts?.credit.settled(0, spent * sequence.draft.length);
  }

  /** Milliseconds of steps with up to `more` draft tokens. */
  private costsOf({ length }: Rows, more: number): Float64Array {
    const { decodeMs, prefillTokenMs } = this.context.cost;
    return this.rowCosts.of({ rows: length, ms: decodeMs, wideRowMs: prefillTokenMs }, more);
  }

  /**
   * Drafts for the rows of a step, into each sequence's `draft`. Only steps without prefill have drafts; a draft never evicts
   * a kept prefix.
   */
  private draft(rows: Rows): Drafts {
    const { cost } = this.context;
    if (cost.decodeMs === 0) return NO_DRAFTS; // what a draft token saves is unknown
    if (this.source.max === 0 && rows.every(({ sequence }) => sequence.owner.guard === undefined))
      return NO_DRAFTS;
    for (const { sequence } of rows) {
      sequence.draft = NO_DRAFT; // a failed pass leaves its drafts behind
      const { drafts } = sequence.owner;
      drafts?.proposed.expect(this.common.proposed);
      drafts?.dictated.expect(this.common.dictated);
    }
    if (rows.some(({ sequence }) => sequence.gap !== 1)) {
      this.source.onPrefill(rows.length);
      return NO_DRAFTS;
    }
    const room = this.roomFor(rows);
    if (room <= 0) return NO_DRAFTS;
    if (this.source.isCostly) return this.assign(rows, room, draftCostRatio(cost, rows.length));
    const costs = this.costsOf(rows, room);
    const drafts = this.assign(rows, room, leastRowShare(costs, rows.length));
    return drafts.tokens === 0 ? drafts : this.cut(rows, costs);
  }

  /** Rows beside those of the sequences. */
  private roomFor({ length }: Rows): number {
    return Math.min(this.budget, this.context.kv.freeCells, length + DRAFT_ROWS_MAX) - length;
  }

  /** Cuts drafts to one length where the backend needs that, or fills them up to it. */
  private levelled(rows: Rows, drafts: Drafts): Drafts {
    this.fillers.clear();
    const limits = this.context.backend.draftModel?.level;
    if (limits === undefined || drafts.tokens === 0) return drafts;
    const { decodeMs, prefillTokenMs: rowMs } = this.context.cost;
    const { lengths, filled } = bestLevel(
      rows.map(({ sequence }) => this.chancesOf(sequence)),
      {
        ...limits,
        filledRows: rows.every(({ sequence }) => sequence.generated > 0)
          ? rows.length + this.roomFor(rows)
          : 0,
        partMs: Math.max(decodeMs / 8, decodeMs - rows.length * rowMs),
        rowMs,
      },
    );
    rows.forEach(({ sequence }, i) => {
      this.trim(sequence, lengths[i] ?? 0);
      if (filled > 0) this.fill(sequence, filled);
    });
    return { ...drafts, tokens: lengths.reduce((sum, length) => sum + length, 0) };
  }

  /** Fillers are never accepted: their rows cost less than another part of the pass. */
  private fill(sequence: EngineSequence, length: number): void {
    const { draft, known } = sequence;
    if (draft.length === length) return;
    this.fillers.set(sequence, length - draft.length);
    const filled = new Int32Array(length).fill(sequence.tokenAt(known - 1));
    filled.set(draft);
    sequence.draft = filled;
  }

  private ordered(rows: Rows): Rows {
    if (this.context.backend.draftModel?.level === undefined) return rows;
    return rows.toSorted((a, b) => a.sequence.draft.length - b.sequence.draft.length);
  }

  /** The source's proposals, for the sequences that want some. */
  private proposals(rows: Rows, room: number, costRatio: number): ReadonlyMap<EngineSequence, Int32Array> {
    const pays = rows.some(({ sequence }) => (sequence.owner.drafts?.proposed.worth(costRatio) ?? 0) > 0);
    if (!this.source.isReady(rows.length, pays)) return new Map();
    const targets = rows.flatMap(({ sequence }) => {
      const { drafts, guard } = sequence.owner;
      if (drafts === undefined || sequence.generated === 0 || guard?.isMixed === true) return [];
      const wanted = drafts.proposed.wanted(sequence.known, costRatio, this.mayProbe);
      const max = Math.min(tokensLeft(sequence), this.source.max, wanted);
      return max > 0 ? { sequence, max } : [];
    });
    const drafts = targets.length === 0 ? [] : this.source.draft(targets, room);
    return new Map(targets.map(({ sequence }, i) => [sequence, drafts[i] ?? NO_DRAFT]));
  }

  /** A draft model is paused as a whole where it does not pay. */
  private get mayProbe(): boolean {
    return this.source.isCostly || this.probeBudget.isOpen;
  }

  private assign(rows: Rows, room: number, costRatio: number): Drafts {
    const proposals = this.proposals(rows, room, costRatio);
    this.guarded.clear();
    this.grammars.begin(this.mayLook(rows));
    let tokens = 0;
    let charged = 0;
    for (const { sequence } of rows) {
      const proposal = proposals.get(sequence);
      const left = Math.min(room - tokens, tokensLeft(sequence));
      const guarded = this.draftUnder(sequence, proposal, { all: left, costRatio });
      sequence.draft = guarded?.tokens ?? proposal?.subarray(0, left) ?? NO_DRAFT;
      const drafted = sequence.draft.length;
      const isCharged = drafted === 0 && proposal !== undefined && this.source.isCostly;
      if (isCharged || (drafted > 0 && this.source.isCostly))
        sequence.owner.drafts?.proposed.drafted(sequence.known);
      if (isCharged) sequence.owner.drafts?.proposed.learn(0, false);
      tokens += drafted;
      // Tokens that a grammar refused took time to make, too.
      charged += this.source.isCostly && proposal !== undefined ? Math.max(1, proposal.length) : drafted;
    }
    if (this.grammars.looked) this.context.looks.looked();
    return { tokens, charged, probes: 0 };
  }

  /** A draft model's tokens have taken their time, so its balance decides. */
  private mayLook(rows: Rows): boolean {
    const { cost, looks } = this.context;
    if (this.source.isCostly || !rows.some(({ sequence }) => sequence.owner.guard?.isMatching === true))
      return true;
    return looks.begin(rows.length, cost.decodeMs);
  }

  /** Cuts drafts that took no time to what is worth the rows of this step, or a probe. */
  private cut(rows: Rows, costs: Float64Array): Drafts {
    const lengths = worthwhile(
      rows.map(({ sequence }) => this.chancesOf(sequence)),
      affordable(costs, rows.length, creditOf(rows)),
      rows.length,
    );
    let tokens = 0;
    let probes = 0;
    rows.forEach(({ sequence }, i) => {
      const length = lengths[i] ?? 0;
      const isProbe = length === 0 && sequence.draft.length > 0 && this.mayProbe && isProbeDue(sequence);
      this.shorten(sequence, isProbe ? 1 : length);
      tokens += sequence.draft.length;
      probes += isProbe ? 1 : 0;
    });
    return { tokens, charged: tokens, probes };
  }

  /** For each draft token of a sequence, the chance that it and all before it are accepted. */
  private chancesOf(sequence: EngineSequence): readonly number[] {
    const { drafts } = sequence.owner;
    const dictated = this.guarded.get(sequence)?.dictated ?? [];
    let chance = 1;
    return Array.from(sequence.draft, (_, i) => {
      chance *= (dictated[i] === true ? drafts?.dictated.rate : drafts?.proposed.rate) ?? 0;
      return chance;
    });
  }

  private trim(sequence: EngineSequence, length: number): void {
    if (length >= sequence.draft.length) return;
    const guarded = this.guarded.get(sequence);
    if (guarded !== undefined) this.guarded.set(sequence, firstOf(guarded, length));
    sequence.draft = sequence.draft.subarray(0, length);
  }

  private shorten(sequence: EngineSequence, length: number): void {
    this.trim(sequence, length);
    if (length === 0) return;
    const { drafts } = sequence.owner;
    const dictated = this.guarded.get(sequence)?.dictated ?? [];
    if (dictated.includes(true)) drafts?.dictated.drafted(sequence.known);
    if (dictated.length === 0 || dictated.includes(false)) drafts?.proposed.drafted(sequence.known);
  }

  /** The draft of a sequence under a grammar; undefined without one. */
  private draftUnder(
    sequence: EngineSequence,
    proposal = NO_DRAFT,
    { all, costRatio }: { readonly all: number; readonly costRatio: number },
  ): GuardedDraft | undefined {
    const { drafts, guard } = sequence.owner;
    if (guard === undefined || guard.isOff || drafts === undefined) return undefined;
    // A draft token costs what one of a draft model does: those that the grammar dictates would make it look cheap.
    const wanted = this.source.isCostly
      ? 0
      : drafts.dictated.wanted(sequence.known, costRatio, this.mayProbe);
    if (all <= 0 || wanted + proposal.length === 0 || sequence.generated === 0) return NO_GUARDED_DRAFT;
    const dictated = Math.min(DICTATED_MAX, wanted);
    const draft = this.grammars.draft(sequence, guard, proposal, { dictated, all });
    this.guarded.set(sequence, draft);
    return draft;
  }

  /** Takes the pass's sampled tokens, then verifies the drafts. No rejected token is left in the cache afterwards. */
  private takeTokens(nowMs: number): DraftOutcome {
    const { batch, kv, meter, takeToken } = this.context;
    const all = batch.drawn.map((sequence, i): Verified => {
      const row = batch.batchRows[i];
      assert(row !== undefined, "the batch has a row for each sampled sequence");
      const proposed = sequence.draft.length - (this.fillers.get(sequence) ?? 0);
      const { guard } = sequence.owner;
      return { sequence, row, guard, guarded: this.guarded.get(sequence), proposed, accepted: 0 };
    });
    takeSampled(all, batch.tokens, takeToken, nowMs);
    this.verifyMs = 0;
    const drafted = all.filter(({ sequence }) => sequence.draft.length > 0);
    const tokens = drafted.reduce((sum, { proposed }) => sum + proposed, 0);
    for (let going = drafted.filter(isAccepted); going.length > 0; going = going.filter(isAccepted))
      this.sampleNext(going, nowMs);
    for (const verified of drafted) {
      const { sequence, accepted, proposed } = verified;
      if (proposed > 0) {
        meter.verified(proposed, accepted);
        this.learn(verified);
      }
      const { guard, guarded } = verified;
      const goesOn = sequence.slot !== undefined && sequence.owner.guard === guard;
      if (goesOn && guard !== undefined && guarded !== undefined)
        this.grammars.verified(sequence, guard, guarded, accepted);
      sequence.draft = NO_DRAFT;
      kv.settle(sequence);
      if (sequence.slot !== undefined) this.source.verified(sequence.slot, accepted);
    }
    return { drafted: tokens, accepted: drafted.reduce((sum, { accepted }) => sum + accepted, 0) };
  }

  private learn({ sequence: { owner }, guarded, proposed, accepted }: Verified): void {
    const dictated = guarded?.dictated ?? [];
    const isRefused = this.source.isCostly && guarded?.isRefused === true;
    if (owner.drafts !== undefined)
      learnDraft(owner.drafts, this.common, { length: proposed, dictated, accepted, isRefused });
  }

  /** Samples the token after each accepted draft token. */
  private sampleNext(going: readonly Verified[], nowMs: number): void {
    const { backend, batch, now, takeToken } = this.context;
    const startMs = now();
    going.forEach((verified, i) => {
      const { sequence, guarded } = verified;
      batch.masks[i] = maskAddress(sequence, guarded?.masks[verified.accepted]);
      verified.accepted++;
      sequence.computed++;
      batch.batchRows[i] = verified.row + verified.accepted;
      batch.samplers[i] = sequence.sampler;
    });
    backend.sample(going.length, batch.batchRows, batch.samplers, batch.masks, batch.tokens);
    this.verifyMs += now() - startMs;
    takeSampled(going, batch.tokens.slice(0, going.length), takeToken, nowMs);
  }
}

/** Tokens whose time the drafts of a step may take. */
function creditOf(rows: Rows): number {
  const left = rows.map(({ sequence: { draft, generated, owner } }) =>
    draft.length === 0 ? 0 : (owner.drafts?.credit.left(generated) ?? 0),
  );
  return left.reduce((sum, tokens) => sum + Math.max(0, tokens), 0);
}

/** Whether a draft that is not worthwhile may be tried again. */
function isProbeDue({ known, owner: { drafts } }: EngineSequence): boolean {
  return drafts !== undefined && (drafts.proposed.isProbeDue(known) || drafts.dictated.isProbeDue(known));
}

/** Tokens that may be drafted: one more is sampled after them. */
function tokensLeft({ owner, generated }: EngineSequence): number {
  const { run, output, thinkingLimit } = owner;
  const due = thinkingLimit?.untilDue(output, generated) ?? Number.POSITIVE_INFINITY;
  return Math.max(0, Math.min(run.tokenCap - generated, due) - 1);
}
