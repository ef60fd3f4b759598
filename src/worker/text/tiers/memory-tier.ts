// Host memory of the tiers: blocks by key, bounded by bytes, least recently used evicted first.

import type { BlockKey } from "./block.ts";

/** Bytes written between two looks at the free memory. */
const LOOK_EVERY_BYTES = 64 * 1024 * 1024;

export class MemoryTier {
  private readonly bytesMax: number;
  private readonly isScarce: () => boolean;
  private readonly blocks = new Map<BlockKey, Uint8Array>(); // least recently used first
  private held = 0;
  private sinceLook = 0;

  /** `isScarce`: other programs need memory; then blocks are evicted for each new one. */
  constructor(bytesMax: number, isScarce: () => boolean = () => false) {
    this.bytesMax = bytesMax;
    this.isScarce = isScarce;
  }

  /** Bytes of all blocks. */
  get bytes(): number {
    return this.held;
  }

  /** Bytes that may be held. */
  get capacity(): number {
    return this.bytesMax;
  }

  has(key: BlockKey): boolean {
    return this.blocks.has(key);
  }

  get(key: BlockKey): Uint8Array | undefined {
    return this.blocks.get(key);
  }

  /** Marks the blocks of a prompt as used, the last one first: without its beginning, the rest of a prompt is useless. */
  use(keys: readonly BlockKey[]): void {
    for (const key of keys.toReversed()) {
      const cells = this.blocks.get(key);
      if (cells === undefined) continue;
      this.blocks.delete(key);
      this.blocks.set(key, cells);
    }
  }

  add(key: BlockKey, cells: Uint8Array): void {
    this.delete(key);
    if (cells.length > this.bytesMax) return;
    this.sinceLook += cells.length;
    let room = this.bytesMax - cells.length;
    if (this.sinceLook > LOOK_EVERY_BYTES) {
      this.sinceLook = 0;
      if (this.isScarce()) room = Math.min(room, this.held / 2);
    }
    for (const oldest of this.blocks.keys()) {
      if (this.held <= room) break;
      this.delete(oldest);
    }
    this.blocks.set(key, cells);
    this.held += cells.length;
  }

  delete(key: BlockKey): void {
    this.held -= this.blocks.get(key)?.length ?? 0;
    this.blocks.delete(key);
  }

  clear(): void {
    this.blocks.clear();
    this.held = 0;
  }
}
