// A model, or a head of the model's own file, that guesses next tokens beside a context. The context frees what it keeps.

import { ServiceError } from "../src/core/error.ts";
import { assert } from "../src/core/assert.ts";
import type { DraftRequest, DraftModel, SlotId } from "../src/worker/text/backend.ts";
import type { Native } from "./library.ts";
import { type Handle, nativeText } from "./text.ts";

interface DraftSizes {
  readonly slots: number;
  /** Tokens of a guess. */
  readonly max: number;
  /** Guesses are drawn as the answer is; else they are the likeliest tokens. */
  readonly drawn: boolean;
}

export class LlamaDraftModel implements DraftModel {
  readonly max: number;
  /** See Speculative. */
  readonly drawn: boolean;
  private readonly native: Native;
  private readonly context: Handle;
  // Columns of the asks, filled anew each time.
  private readonly slot: Int32Array; // [slots]
  private readonly token: Int32Array; // [slots]
  private readonly position: Int32Array; // [slots]
  private readonly sampler: BigUint64Array; // [slots] whose draws are guessed; 0 for the likeliest tokens
  private readonly tokens: Int32Array; // [slots × most]
  private readonly counts: Int32Array; // [slots] tokens wanted, then tokens guessed

  private constructor(native: Native, context: Handle, { slots, max, drawn }: DraftSizes) {
    this.native = native;
    this.context = context;
    this.max = max;
    this.slot = new Int32Array(slots);
    this.token = new Int32Array(slots);
    this.position = new Int32Array(slots);
    this.sampler = new BigUint64Array(slots);
    this.drawn = drawn;
    this.tokens = new Int32Array(slots * max);
    this.counts = new Int32Array(slots);
  }

  /**
   * Lets `model` guess for a context with so many slots; null: the head in the context's own file. Throws
   * ServiceError(model_unavailable) with the reason when it cannot.
   */
  static open(native: Native, context: Handle, model: Handle | null, sizes: DraftSizes): LlamaDraftModel {
    const possible = native.svc_draft_open(context, model, sizes.max);
    if (possible > 0) return new LlamaDraftModel(native, context, { ...sizes, max: possible });
    const source = model === null ? 'speculative = "mtp" without mtp_model' : "mtp_model";
    const reason = nativeText(native.svc_last_error());
    throw new ServiceError("model_unavailable", `${source} cannot guess for this model: ${reason}`);
  }

  draft(asks: readonly DraftRequest[]): readonly Int32Array[] {
    assert(asks.length <= this.slot.length, "no slot is asked for twice");
    asks.forEach(({ slot, token, position, sampler, max }, i) => {
      this.slot[i] = slot;
      this.token[i] = token;
      this.position[i] = position;
      this.sampler[i] = this.drawn ? sampler : 0n;
      this.counts[i] = max;
    });
    const { context, slot, token, position, sampler, counts, tokens } = this;
    const n = asks.length;
    const result = this.native.svc_draft(context, n, slot, token, position, sampler, counts, tokens);
    if (result !== 0) return [];
    return asks.map((_, i) => tokens.slice(i * this.max, i * this.max + (counts[i] ?? 0)));
  }

  accept(slot: SlotId, right: number): void {
    this.native.svc_draft_accept(this.context, slot, right);
  }

  follow(on: boolean): void {
    this.native.svc_draft_follow(this.context, on ? 1 : 0);
  }
}
