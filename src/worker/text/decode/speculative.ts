// Speculative decoding: draft tokens are computed after a sequence's last known token, and each is kept while it equals
// the token sampled at its place. Every token is sampled from the model's own logits, so drafts change the speed of an
// answer and nothing else (Leviathan et al. 2023, with deterministic drafts).

import { assert } from "../../../core/assert.ts";
import type { Backend, DecodeOutcome } from "../backend.ts";
import type { EngineSequence } from "../choice.ts";
import { NO_DRAFT } from "../sequence.ts";
import type { KvCache } from "../kv.ts";
import type { PlannedRows } from "../scheduler.ts";
import { draftCostRatio, measuredDraft } from "../step-cost.ts";
import type { DraftOutcome } from "../step-meter.ts";
import type { DraftBalance } from "./draft-balance.ts";
import { type DraftSource, type DraftTarget, DraftModelSource, NgramSource } from "./draft-source.ts";
import type { DecodeContext, DecodeMode, DecodeStep } from "./mode.ts";
import { tokenPass } from "./token-pass.ts";

/** Draft tokens of one step: each needs a row of logits, vocabulary × 4 bytes. */
const DRAFT_ROWS_MAX = 32;

/** A sequence whose draft is being verified; `row` is the row of its last known token. */
interface Verified {
  readonly sequence: EngineSequence;
  readonly row: number;
  accepted: number;
}

/** The drafts of a step. */
interface Drafts {
  /** Tokens in the sequences' drafts. */
  readonly tokens: number;
  /** Draft tokens whose computation took time; an empty draft of a costly source counts as one. */
  readonly charged: number;
}

const NO_DRAFTS: Drafts = { tokens: 0, charged: 0 };

/** Where a backend's drafts come from: its draft model, else n-grams where `ngrams` is set; undefined for no drafts. */
export function draftSourceOf(
  backend: Backend,
  kv: KvCache,
  balance: DraftBalance,
  ngrams: boolean,
): DraftSource | undefined {
  if (backend.draftModel !== undefined) return new DraftModelSource(backend.draftModel, balance);
  const canTruncate = backend.reuse === "prefix"; // rejected draft tokens must leave the cache
  return ngrams && canTruncate ? new NgramSource((sequence) => kv.finishedBeside(sequence)) : undefined;
}

export class SpeculativeDecode implements DecodeMode {
  private readonly context: DecodeContext;
  private readonly source: DraftSource;
  private readonly budget: number;

  /** `budget`: rows of one pass. */
  constructor(context: DecodeContext, source: DraftSource, budget: number) {
    this.context = context;
    this.source = source;
    this.budget = budget;
  }

  decode({ rows, startMs }: DecodeStep): DecodeOutcome | undefined {
    const { context } = this;
    const { tokens, charged } = this.draft(rows);
    if (charged === 0) return undefined;
    const result = tokenPass(context, rows);
    if (typeof result === "string") return result;
    for (const { sequence } of rows) context.kv.extendBeyond(sequence, sequence.draft.length);
    const { batch, meter } = context;
    const nowMs = context.now();
    const ms = nowMs - startMs;
    const ownMs = context.balance.stepped(ms);
    const { decodeMs } = context.cost;
    context.cost = measuredDraft(context.cost, ownMs, charged);
    meter.stepped(ms, batch.count, batch.count - result.continued - tokens, batch.drawn.length);
    const outcome = this.takeTokens(nowMs);
    meter.drafted(outcome);
    context.balance.add((outcome.accepted * decodeMs) / rows.length - (ownMs - decodeMs));
    return "done";
  }

  /**
   * Drafts for the rows of a step, into each sequence's `draft`. Only steps without prefill have drafts; a draft never evicts
   * a kept prefix.
   */
  private draft(rows: readonly PlannedRows<EngineSequence>[]): Drafts {
    const { cost, kv } = this.context;
    if (cost.decodeMs === 0) return NO_DRAFTS; // what a draft token saves is unknown
    for (const { sequence } of rows) sequence.draft = NO_DRAFT; // a failed pass leaves its drafts behind
    if (rows.some(({ sequence }) => sequence.gap !== 1)) {
      this.source.onPrefill(rows.length);
      return NO_DRAFTS;
    }
    const costRatio = draftCostRatio(cost, rows.length);
    const pays = rows.some(({ sequence }) => (sequence.owner.draftLength?.worth(costRatio) ?? 0) > 0);
    const room = Math.min(this.budget, kv.freeCells, rows.length + DRAFT_ROWS_MAX) - rows.length;
    if (room <= 0 || !this.source.isReady(rows.length, pays)) return NO_DRAFTS;
    const targets = rows.flatMap(({ sequence }) => {
      const max = this.wanted(sequence, costRatio);
      return max > 0 ? { sequence, max } : [];
    });
    return targets.length === 0 ? NO_DRAFTS : this.assign(targets, this.source.draft(targets, room));
  }

  /** Draft tokens wanted for a sequence. */
  private wanted(sequence: EngineSequence, costRatio: number): number {
    const { draftLength, run, thinkingLimit } = sequence.owner;
    if (draftLength === undefined || sequence.generated === 0) return 0;
    const due = thinkingLimit?.untilDue(sequence.generated) ?? Number.POSITIVE_INFINITY;
    const left = Math.max(0, Math.min(run.tokenCap - sequence.generated, due) - 1); // one more token is sampled after the draft
    return Math.min(left, this.source.max, draftLength.wanted(sequence.known, costRatio));
  }

  private assign(targets: readonly DraftTarget[], drafts: readonly Int32Array[]): Drafts {
    let tokens = 0;
    let charged = 0;
    drafts.forEach((draft, i) => {
      const sequence = targets[i]?.sequence;
      assert(sequence !== undefined, "a source drafts only for sequences that it was given");
      if (draft.length === 0 && !this.source.isCostly) return;
      const { draftLength } = sequence.owner;
      sequence.draft = draft;
      draftLength?.drafted(sequence.known);
      if (draft.length === 0) draftLength?.learn(0, false);
      tokens += draft.length;
      charged += Math.max(1, draft.length);
    });
    return { tokens, charged };
  }

  /** Takes the pass's sampled tokens, then verifies the drafts. No rejected token is left in the cache afterwards. */
  private takeTokens(nowMs: number): DraftOutcome {
    const { batch, kv, takeToken } = this.context;
    const all = batch.drawn.map((sequence, i): Verified => {
      const row = batch.batchRows[i];
      assert(row !== undefined, "the batch has a row for each sampled sequence");
      return { sequence, row, accepted: 0 };
    });
    takeSampled(all, batch.tokens, takeToken, nowMs);
    const drafted = all.filter(({ sequence }) => sequence.draft.length > 0);
    const tokens = drafted.reduce((sum, { sequence }) => sum + sequence.draft.length, 0);
    for (let going = drafted.filter(isAccepted); going.length > 0; going = going.filter(isAccepted))
      this.sampleNext(going, nowMs);
    for (const { sequence, accepted } of drafted) {
      sequence.owner.draftLength?.learn(accepted, accepted === sequence.draft.length);
      sequence.draft = NO_DRAFT;
      kv.settle(sequence);
      if (sequence.slot !== undefined) this.source.verified(sequence.slot, accepted);
    }
    return { drafted: tokens, accepted: drafted.reduce((sum, { accepted }) => sum + accepted, 0) };
  }

  /** Samples the token after each accepted draft token. */
  private sampleNext(going: readonly Verified[], nowMs: number): void {
    const { backend, batch, takeToken } = this.context;
    going.forEach((verified, i) => {
      verified.accepted++;
      verified.sequence.computed++;
      batch.batchRows[i] = verified.row + verified.accepted;
      batch.samplers[i] = verified.sequence.sampler;
      batch.masks[i] = 0n;
    });
    backend.sample(going.length, batch.batchRows, batch.samplers, batch.masks, batch.tokens);
    takeSampled(going, batch.tokens.slice(0, going.length), takeToken, nowMs);
  }
}

function takeSampled(
  verified: readonly Verified[],
  tokens: Int32Array,
  takeToken: DecodeContext["takeToken"],
  nowMs: number,
): void {
  verified.forEach(({ sequence, row, accepted }, i) => {
    const token = tokens[i];
    assert(token !== undefined, "a token was sampled for each sequence");
    takeToken(sequence, token, row + accepted, nowMs);
  });
}

/** Whether the token sampled last is the next draft token, and the sequence still runs unchanged. */
function isAccepted({ sequence, accepted }: Verified): boolean {
  const { slot, known, computed, draft } = sequence;
  return slot !== undefined && known === computed + 1 && sequence.tokenAt(known - 1) === draft[accepted];
}
