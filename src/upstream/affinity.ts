// Which blocks an upstream has computed lately, as far as this server knows: a bounded set, least recently used first.

import { REMEMBERED_BLOCKS_MAX } from "./limits.ts";

export class Affinity {
  private readonly blocks = new Set<number>();

  /** How many of the blocks, from the first one on, the upstream has. */
  depth(blocks: readonly number[]): number {
    let depth = 0;
    while (depth < blocks.length && this.blocks.has(blocks[depth] ?? 0)) depth++;
    return depth;
  }

  /** The upstream computes a prompt of these blocks. */
  add(blocks: readonly number[]): void {
    for (const block of blocks) {
      this.blocks.delete(block);
      this.blocks.add(block);
    }
    for (const oldest of this.blocks) {
      if (this.blocks.size <= REMEMBERED_BLOCKS_MAX) return;
      this.blocks.delete(oldest);
    }
  }

  /** It has restarted: its cache is empty. */
  clear(): void {
    this.blocks.clear();
  }
}
