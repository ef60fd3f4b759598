// Copies of KV cells: a range of positions of a slot as bytes, and back. The library saves and restores whole sequences
// only, so each copy goes through a native sequence that is otherwise empty.

import { createHash } from "node:crypto";
import { closeSync, fstatSync, openSync, readSync } from "node:fs";
import { type AdapterId, BASE_MODEL } from "../src/core/adapter.ts";
import type { CellBackend, SlotId } from "../src/worker/text/backend.ts";
import { NATIVE } from "./embedded.ts";
import { manifestHash } from "./extract.ts";
import type { Native } from "./library.ts";
import type { WindowGuards } from "./llama-windows.ts";
import type { Handle } from "./text.ts";

/** Parts of the backend that copies need. */
export interface CellDeps {
  readonly native: Native;
  readonly context: Handle;
  /** A native sequence without cells. */
  readonly scratch: number;
  /** Files of the model and of adapters that are part of it. */
  readonly files: readonly string[];
  readonly cacheType: string;
  /** Where layers have windows: guards what was appended to a slot. */
  readonly guards: WindowGuards | undefined;
}

/** Bytes at the beginning and at the end of a file that identify it, besides its size and time of change. */
const IDENTIFYING_BYTES = 1 << 20;

export class LlamaCells implements CellBackend {
  private readonly deps: CellDeps;
  private readonly adapters = new Map<AdapterId, string>(); // their identities

  constructor(deps: CellDeps) {
    this.deps = deps;
  }

  identity(adapter: AdapterId): string {
    const { files, cacheType } = this.deps;
    const parts = [manifestHash(NATIVE), cacheType, ...files.map(fileIdentity)];
    return JSON.stringify(adapter === BASE_MODEL ? parts : [...parts, this.adapters.get(adapter) ?? adapter]);
  }

  /** An adapter was loaded from a file. */
  adapterLoaded(adapter: AdapterId, path: string): void {
    this.adapters.set(adapter, JSON.stringify(fileIdentity(path)));
  }

  save(slot: SlotId, from: number, to: number): Uint8Array | undefined {
    const { native, context, scratch } = this.deps;
    native.svc_sequence_copy(context, slot, scratch, from, to);
    const cells = Buffer.allocUnsafeSlow(Math.max(0, Number(native.svc_state_size(context, scratch))));
    const length =
      cells.length === 0 ? 0n : native.svc_state_get(context, scratch, cells, BigInt(cells.length));
    native.svc_sequence_remove(context, scratch, 0, -1);
    return length > 0n ? cells : undefined;
  }

  restore(slot: SlotId, cells: Uint8Array, from: number, to: number): boolean {
    const { native, context, scratch, guards } = this.deps;
    const isRead = native.svc_state_set(context, scratch, cells, BigInt(cells.length)) > 0n;
    if (isRead) native.svc_sequence_copy(context, scratch, slot, from, to);
    if (isRead) guards?.appended(scratch, slot, from, to);
    native.svc_sequence_remove(context, scratch, 0, -1);
    if (isRead && native.svc_sequence_end(context, slot) === to - 1) return true;
    guards?.cut(slot, from);
    native.svc_sequence_remove(context, slot, from, -1);
    return false;
  }
}

/** Size, time of change, and a hash over beginning and end: hashing all of a model would take seconds. */
function fileIdentity(path: string): readonly (number | string)[] {
  const file = openSync(path, "r");
  try {
    const { size, mtimeMs } = fstatSync(file);
    const hash = createHash("sha256");
    const bytes = new Uint8Array(Math.min(size, IDENTIFYING_BYTES));
    for (const at of [0, size - bytes.length]) {
      readSync(file, bytes, 0, bytes.length, at);
      hash.update(bytes);
    }
    return [size, mtimeMs, hash.digest("hex")];
  } finally {
    closeSync(file);
  }
}
