// States on the disk tier, by the key of the last whole block before them. The file of a state at the end of an answer, which ends
// within a block, has the tokens after that block before the state; the latest of them replaces the others.

import { BLOCK_TOKENS, type BlockKey, stateKey, tailKey } from "./block.ts";
import type { DiskTier } from "./disk-tier.ts";

/** Blocks whose states are looked for at the same time. */
const LOOKUPS_AT_ONCE = 16;

const TOKEN_BYTES = Int32Array.BYTES_PER_ELEMENT;

export interface FoundState {
  /** Tokens that lead to it, and the whole blocks among them. */
  readonly length: number;
  readonly blocks: number;
  readonly state: Uint8Array;
}

/** A prefix in which states are looked for. */
export interface StateSearch {
  readonly tokens: Int32Array;
  /** Of its whole blocks. */
  readonly keys: readonly BlockKey[];
  /** Blocks that need not be looked at. */
  readonly from: number;
  readonly isDropped: () => boolean;
}

export class StateFiles {
  private readonly disk: DiskTier;

  constructor(disk: DiskTier) {
    this.disk = disk;
  }

  /** Writes the state after `tokens`, unless images or audio are among the last of them. `keys`: of their whole blocks. */
  write(tokens: Int32Array, keys: readonly BlockKey[], state: Uint8Array): void {
    const last = keys.at(-1);
    const tail = tokens.subarray(keys.length * BLOCK_TOKENS);
    if (last === undefined || tail.length >= BLOCK_TOKENS || tail.some((token) => token < 0)) return;
    if (tail.length === 0) return this.disk.write(stateKey(last), keys.length - 1, state);
    const head = new Uint8Array(Int32Array.of(tail.length, ...tail).buffer);
    this.disk.write(tailKey(last), keys.length - 1, Buffer.concat([head, state]), true);
  }

  /** The last state of a prefix. */
  async find(search: StateSearch): Promise<FoundState | undefined> {
    const { keys, from, isDropped } = search;
    for (let end = keys.length; end > from && !isDropped(); end -= LOOKUPS_AT_ONCE) {
      const start = Math.max(from, end - LOOKUPS_AT_ONCE);
      const group = keys.slice(start, end);
      const tails = await Promise.all(group.map((key) => this.disk.has(tailKey(key))));
      const states = await Promise.all(group.map((key) => this.disk.has(stateKey(key))));
      for (let i = group.length - 1; i >= 0; i--) {
        const found =
          (tails[i] === true ? await this.afterTail(search, start + i) : undefined) ??
          (states[i] === true ? await this.afterBlock(search, start + i) : undefined);
        if (found !== undefined) return found;
      }
    }
    return undefined;
  }

  private async afterBlock({ keys }: StateSearch, depth: number): Promise<FoundState | undefined> {
    const key = keys[depth];
    const state = key === undefined ? undefined : await this.disk.read(stateKey(key), depth);
    return state && { length: (depth + 1) * BLOCK_TOKENS, blocks: depth + 1, state };
  }

  private async afterTail({ keys, tokens }: StateSearch, depth: number): Promise<FoundState | undefined> {
    const key = keys[depth];
    const file = key === undefined ? undefined : await this.disk.read(tailKey(key), depth);
    if (file === undefined) return undefined;
    const view = new DataView(file.buffer, file.byteOffset, file.byteLength);
    const count = view.getInt32(0, true);
    const length = (depth + 1) * BLOCK_TOKENS + count;
    const tail = tokens.subarray(length - count, length);
    const isOwn =
      tail.length === count && tail.every((token, i) => token === view.getInt32((1 + i) * TOKEN_BYTES, true));
    return isOwn ? { length, blocks: depth + 1, state: file.subarray((1 + count) * TOKEN_BYTES) } : undefined;
  }
}
