// Opens the tiers of an engine, as configured.

import { freeMemory } from "../../../core/free-memory.ts";
import type { TierOptions } from "../../../engine/protocol.ts";
import type { Backend } from "../backend.ts";
import { DiskTier } from "./disk-tier.ts";
import { MemoryTier } from "./memory-tier.ts";
import { CacheTiers } from "./tiers.ts";

/** Share of the free memory for blocks, unless configured. */
const MEMORY_SHARE = 0.125;
/** Free memory below which blocks give way to other programs, bytes. */
const FREE_BYTES_MIN = 512 * 1024 * 1024;

interface TierSurroundings {
  /** There may be work again. */
  readonly wake: () => void;
  /** Layers of the model are on a device. */
  readonly isOnDevice: boolean;
}

/**
 * The tiers of an engine; undefined where none are wanted, or neither cells nor states can be copied. A disk that cannot be
 * used is reported and left out.
 */
export function openTiers(
  options: TierOptions | undefined,
  { cellCopies: cells, states }: Backend,
  { wake, isOnDevice }: TierSurroundings,
): CacheTiers | undefined {
  if (options === undefined) return undefined;
  const isAlone = states?.alone === true && options.disk !== undefined; // in memory, states have a store of their own
  const source = cells ?? (isAlone ? states : undefined);
  if (source === undefined) {
    if (options.disk !== undefined)
      console.error(
        "engine: the KV cache of this model is not kept on disk: it has moving windows, or states that cannot be saved",
      );
    return undefined;
  }
  const identity = source.identity.bind(source);
  const { memoryBytes = freeMemory() * MEMORY_SHARE } = options;
  const memory = new MemoryTier(memoryBytes, () => freeMemory() < FREE_BYTES_MIN);
  const disk = openDisk(options.disk, wake);
  return new CacheTiers({
    identity,
    cells,
    memory,
    disk,
    remembers: true,
    isOnDevice,
    onRead: wake,
    now: () => performance.now(),
  });
}

function openDisk(options: TierOptions["disk"], onRoom: () => void): DiskTier | undefined {
  if (options === undefined) return undefined;
  try {
    return new DiskTier(options.folder, options.bytesMax, onRoom);
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    console.error(`engine: the KV cache is not kept on disk: ${reason}`);
    return undefined;
  }
}
