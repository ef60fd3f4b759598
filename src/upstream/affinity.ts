// LRU set of the prompt blocks that an upstream has probably in its prefix cache.

import { itemAt } from "../core/assert.ts";
import { REMEMBERED_BLOCKS_MAX } from "./limits.ts";

export class Affinity {
  private readonly blocks = new Set<number>();

  /** Number of leading blocks that the upstream has. */
  depth(blocks: readonly number[]): number {
    let depth = 0;
    while (depth < blocks.length && this.blocks.has(itemAt(blocks, depth))) depth++;
    return depth;
  }

  /** Records a prompt that the upstream computes. */
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

  /** Clears the set after a restart of the upstream. */
  clear(): void {
    this.blocks.clear();
  }
}
