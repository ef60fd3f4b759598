// Draft model of a context: a model, or a prediction head in the model's own file. The context frees it.

import { ServiceError } from "../../src/core/error.ts";
import { assert } from "../../src/core/assert.ts";
import type { DraftRequest, DraftModel, LevelLimits, SlotId } from "../../src/worker/text/backend.ts";
import type { Native } from "../library.ts";
import { type Handle, nativeText } from "../text.ts";

interface DraftSizes {
  readonly slots: number;
  /** Maximum tokens of one draft. */
  readonly max: number;
  /** Draft tokens are sampled like the answer; otherwise they are the most likely ones. */
  readonly sampled: boolean;
  readonly level: LevelLimits | undefined;
}

/**
 * llama.cpp computes sequences of different lengths in micro-batches of their own, and moves states of recurrent layers between these
 * without what a rejected draft goes back to. With a memory for each sequence, those of a micro-batch have neighbouring slots.
 */
export function levelLimits(ubatch: number, unified: boolean): LevelLimits {
  return { rows: ubatch, sequences: unified ? Number.POSITIVE_INFINITY : 1 };
}

export class LlamaDraftModel implements DraftModel {
  readonly max: number;
  readonly level: LevelLimits | undefined;
  /** See Speculative. */
  readonly sampled: boolean;
  private readonly native: Native;
  private readonly context: Handle;
  // Columns of the requests, refilled each time.
  private readonly slot: Int32Array; // [slots]
  private readonly token: Int32Array; // [slots]
  private readonly position: Int32Array; // [slots]
  private readonly sampler: BigUint64Array; // [slots] sampler to imitate; 0 for the most likely tokens
  private readonly tokens: Int32Array; // [slots × max]
  private readonly counts: Int32Array; // [slots] tokens wanted, then tokens drafted

  private constructor(native: Native, context: Handle, { slots, max, sampled, level }: DraftSizes) {
    this.native = native;
    this.context = context;
    this.max = max;
    this.level = level;
    this.slot = new Int32Array(slots);
    this.token = new Int32Array(slots);
    this.position = new Int32Array(slots);
    this.sampler = new BigUint64Array(slots);
    this.sampled = sampled;
    this.tokens = new Int32Array(slots * max);
    this.counts = new Int32Array(slots);
  }

  /**
   * Opens the draft model `model` of a context; null: the head in the context's own file. Throws
   * ServiceError(model_unavailable) with the reason when it does not fit.
   */
  static open(native: Native, context: Handle, model: Handle | null, sizes: DraftSizes): LlamaDraftModel {
    const possible = native.svc_draft_open(context, model, sizes.max);
    if (possible > 0) return new LlamaDraftModel(native, context, { ...sizes, max: possible });
    const source = model === null ? 'speculative = "mtp" without mtp_model' : "mtp_model";
    const reason = nativeText(native.svc_last_error());
    throw new ServiceError(
      "model_unavailable",
      `${source} cannot be the draft model of this model: ${reason}`,
    );
  }

  draft(requests: readonly DraftRequest[]): readonly Int32Array[] {
    assert(requests.length <= this.slot.length, "no slot is asked for twice");
    requests.forEach(({ slot, token, position, sampler, max }, i) => {
      this.slot[i] = slot;
      this.token[i] = token;
      this.position[i] = position;
      this.sampler[i] = this.sampled ? sampler : 0n;
      this.counts[i] = max;
    });
    const { context, slot, token, position, sampler, counts, tokens } = this;
    const n = requests.length;
    const result = this.native.svc_draft(context, n, slot, token, position, sampler, counts, tokens);
    if (result !== 0) return [];
    return requests.map((_, i) => tokens.slice(i * this.max, i * this.max + (counts[i] ?? 0)));
  }

  accept(slot: SlotId, right: number): void {
    this.native.svc_draft_accept(this.context, slot, right);
  }

  follow(on: boolean): void {
    this.native.svc_draft_follow(this.context, on ? 1 : 0);
  }

  takeMs(): number {
    return this.native.svc_draft_ms(this.context);
  }
}
