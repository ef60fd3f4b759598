// Copies of KV cells: a range of positions of a slot as bytes, and back. The library saves and restores whole sequences
// only, so each copy goes through a native sequence that is otherwise empty. Cells of a draft model are copied with those of the
// model, as far as it has them.

import type { AdapterId } from "../../src/core/adapter.ts";
import type { CellBackend, SlotId } from "../../src/worker/text/backend.ts";
import type { Native } from "../library.ts";
import type { LlamaIdentity } from "./identity.ts";
import { WHOLE } from "./states.ts";
import type { WindowGuards } from "./windows.ts";
import type { Handle } from "../text.ts";

/** Parts of the backend that copies need. */
export interface CellDeps {
  readonly native: Native;
  readonly context: Handle;
  /** A native sequence without cells. */
  readonly scratch: number;
  readonly identity: LlamaIdentity;
  /** Where layers have windows: guards what was appended to a slot. */
  readonly guards: WindowGuards | undefined;
  /** For a hybrid model: removes the state of a native sequence and keeps its cells. */
  readonly strip: ((sequence: number) => void) | undefined;
}

export class LlamaCells implements CellBackend {
  private readonly deps: CellDeps;
  constructor(deps: CellDeps) {
    this.deps = deps;
  }

  identity(adapter: AdapterId): string {
    return this.deps.identity.ofCells(adapter);
  }

  save(slot: SlotId, from: number, to: number): Uint8Array | undefined {
    const { native, context, scratch, strip } = this.deps;
    native.svc_sequence_copy(context, slot, scratch, from, to);
    strip?.(scratch);
    const cells = Buffer.allocUnsafeSlow(Math.max(0, Number(native.svc_state_size(context, scratch, WHOLE))));
    const length =
      cells.length === 0 ? 0n : native.svc_state_get(context, scratch, WHOLE, cells, BigInt(cells.length));
    native.svc_sequence_remove(context, scratch, 0, -1);
    return length > 0n ? cells : undefined;
  }

  restore(slot: SlotId, cells: Uint8Array, from: number, to: number): boolean {
    const { native, context, scratch, guards, strip } = this.deps;
    const isRead = native.svc_state_set(context, scratch, WHOLE, cells, BigInt(cells.length)) > 0n;
    if (isRead) native.svc_sequence_copy(context, scratch, slot, from, to);
    if (isRead) guards?.appended(scratch, slot, from, to);
    native.svc_sequence_remove(context, scratch, 0, -1);
    if (isRead && strip !== undefined) return true; // it has no end until it has a state
    if (isRead && native.svc_sequence_end(context, slot) === to - 1) return true;
    guards?.cut(slot, from);
    native.svc_sequence_remove(context, slot, from, -1);
    return false;
  }
}
