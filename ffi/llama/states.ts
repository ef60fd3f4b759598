// States of recurrent and hybrid models: saved as bytes and restored into other sequences.
//
// For a hybrid model, a state is saved without the sequence's cells, and restoring it leaves the cells of the target as they are.
// With windows, the library saves their cells beside a state. So the state is first copied to a native sequence without cells.

import type { AdapterId } from "../../src/core/adapter.ts";
import type { SlotId, StateBackend } from "../../src/worker/text/backend.ts";
import type { Native } from "../library.ts";
import type { LlamaIdentity } from "./identity.ts";
import type { Handle } from "../text.ts";

/** Parts of svc_state_get: a whole sequence, or its recurrent state. */
export const WHOLE = 0;
const STATE = 1;

/** Parts of the backend that states need. */
export interface StatesDeps {
  readonly native: Native;
  readonly context: Handle;
  /** A native sequence without cells; undefined where states have none. */
  readonly scratch: number | undefined;
  /** Layers have a sliding window. */
  readonly windowed: boolean;
  readonly isOnDevice: boolean;
  readonly identity: LlamaIdentity;
  readonly isMarkup: (token: number) => boolean;
  readonly cut: (slot: SlotId, from: number) => boolean;
}

export class LlamaStates implements StateBackend {
  readonly alone: boolean;
  readonly isOnDevice: boolean;
  readonly isMarkup: (token: number) => boolean;
  private readonly deps: StatesDeps;
  private readonly part: number;
  private readonly empty: Uint8Array | undefined; // nothing, as bytes

  constructor(deps: StatesDeps) {
    this.deps = deps;
    this.alone = deps.scratch === undefined;
    this.isOnDevice = deps.isOnDevice;
    this.isMarkup = deps.isMarkup;
    this.part = deps.windowed || this.alone ? WHOLE : STATE;
    this.empty = deps.scratch === undefined ? undefined : this.read(deps.scratch);
  }

  identity(adapter: AdapterId): string {
    return this.deps.identity.ofCells(adapter);
  }

  save(slot: SlotId): Uint8Array | undefined {
    const { native, context, scratch } = this.deps;
    // As it is at the sequence's end: a copied sequence would not know of draft tokens that were removed.
    if (scratch === undefined || this.part === STATE) return this.read(slot);
    native.svc_sequence_copy(context, slot, scratch, 0, 0); // no positions: only the state
    const state = this.read(scratch);
    native.svc_sequence_remove(context, scratch, 0, -1);
    return state;
  }

  restore(slot: SlotId, state: Uint8Array, position: number): boolean {
    return this.write(slot, state) && (this.alone || this.deps.cut(slot, position));
  }

  /** Removes the state of a native sequence and keeps its cells. */
  strip(sequence: number): void {
    if (this.empty !== undefined) this.write(sequence, this.empty);
  }

  private read(sequence: number): Uint8Array | undefined {
    const { part } = this;
    const { native, context } = this.deps;
    const size = Number(native.svc_state_size(context, sequence, part));
    if (size <= 0) return undefined;
    const state = Buffer.allocUnsafeSlow(size);
    return native.svc_state_get(context, sequence, part, state, BigInt(size)) > 0n ? state : undefined;
  }

  private write(sequence: number, state: Uint8Array): boolean {
    const { native, context } = this.deps;
    return native.svc_state_set(context, sequence, this.part, state, BigInt(state.length)) > 0n;
  }
}
