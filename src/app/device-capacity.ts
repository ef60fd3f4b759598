// Memory that models may take of each device: main memory, accelerators, RPC workers.

import { freeMemory } from "../core/free-memory.ts";
import type { EngineHost } from "../core/system.ts";
import { CARDS } from "../engine/memory-fit.ts";
import type { PlacesOptions } from "../engine/places.ts";

const MIB = 1024 * 1024;
/** An RPC worker serves one engine, whatever its size. */
const WORKER = "rpc ";

/** The part of a claim that takes an RPC worker, host:port. */
export function workerClaim(endpoint: string): readonly [string, number] {
  return [WORKER + endpoint, 1];
}

/**
 * Capacities of devices. Main memory: what is free and what the loaded models have already taken for themselves, at most
 * `limitMb`. Accelerators: what the first engines found free there; unlimited until one has looked.
 */
export function deviceCapacity(
  limitMb: number | undefined,
  hosts: () => readonly EngineHost[],
): NonNullable<PlacesOptions["capacity"]> {
  return (device, holders) => {
    if (device.startsWith(WORKER)) return 1;
    if (device === CARDS) return cardsCapacity(hosts());
    const taken = [...holders].reduce((sum, { privateBytes }) => sum + privateBytes, 0);
    return Math.min(limitMb === undefined ? Infinity : limitMb * MIB, freeMemory() + taken);
  };
}

/** The most that any engine found free when it started; devices of RPC workers are no cards of this machine. */
function cardsCapacity(hosts: readonly EngineHost[]): number {
  const free = hosts.map(({ devices }) => {
    const cards = devices.filter(({ type, name }) => type === "gpu" && !name.startsWith("RPC"));
    return cards.reduce((sum, { memory_free }) => sum + memory_free, 0);
  });
  const most = Math.max(0, ...free);
  return most === 0 ? Infinity : most;
}
