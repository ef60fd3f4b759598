// States of recurrent and hybrid models: saved as bytes and put into other sequences.
//
// Of a hybrid model the library saves a sequence's state and all its cells together. So the state is first shared with a native
// sequence that gets no cells; and cells that a sequence already has stay as they are when what is restored has none.

import type { SlotId, StateBackend } from "../src/worker/text/backend.ts";
import type { Native } from "./library.ts";
import type { Handle } from "./text.ts";

/** What states need of the rest of the backend. */
export interface StatesDeps {
  readonly native: Native;
  readonly context: Handle;
  /** A native sequence that holds nothing; undefined where states are without cells. */
  readonly scratch: number | undefined;
  readonly isMarkup: (token: number) => boolean;
  readonly cut: (slot: SlotId, from: number) => boolean;
}

export class LlamaStates implements StateBackend {
  readonly alone: boolean;
  readonly isMarkup: (token: number) => boolean;
  private readonly deps: StatesDeps;
  private empty: Uint8Array | undefined;

  constructor(deps: StatesDeps) {
    this.deps = deps;
    this.alone = deps.scratch === undefined;
    this.isMarkup = deps.isMarkup;
  }

  save(slot: SlotId): Uint8Array | undefined {
    const { native, context, scratch } = this.deps;
    if (scratch === undefined) return this.read(slot);
    native.svc_sequence_copy(context, slot, scratch, 0, 0); // no positions: the state alone
    const state = this.read(scratch);
    native.svc_sequence_remove(context, scratch, 0, -1);
    return state;
  }

  restore(slot: SlotId, state: Uint8Array, position: number): boolean {
    return this.write(slot, state) && (this.alone || this.deps.cut(slot, position));
  }

  /** Takes the state of a native sequence away and leaves its cells. */
  strip(sequence: number): void {
    const { scratch } = this.deps;
    if (scratch === undefined) return;
    this.empty ??= this.read(scratch);
    if (this.empty !== undefined) this.write(sequence, this.empty);
  }

  private read(sequence: number): Uint8Array | undefined {
    const { native, context } = this.deps;
    const state = new Uint8Array(Math.max(0, Number(native.svc_state_size(context, sequence))));
    if (state.length === 0) return undefined;
    return native.svc_state_get(context, sequence, state, BigInt(state.length)) > 0n ? state : undefined;
  }

  private write(sequence: number, state: Uint8Array): boolean {
    const { native, context } = this.deps;
    return native.svc_state_set(context, sequence, state, BigInt(state.length)) > 0n;
  }
}
