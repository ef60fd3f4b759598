// Memory that models may take of each device: main memory, accelerators, RPC workers.

import { freeMemory } from "../core/free-memory.ts";
import { usableBytes } from "../core/placement.ts";
import type { EngineHost } from "../core/system.ts";
import { type Card, isRemote } from "../engine/claims.ts";
import { HOST, type PlacesOptions } from "../engine/places.ts";

const MIB = 1024 * 1024;
/** An RPC worker serves one engine, whatever its size. */
const WORKER = "rpc ";

/** The part of a claim that takes an RPC worker, host:port. */
export function workerClaim(endpoint: string): readonly [string, number] {
  return [WORKER + endpoint, 1];
}

/**
 * Capacities of devices. Main memory: what is free and what the loaded models have already taken for themselves, at most
 * `limitMb`. Accelerators: what was usable when the first engines started; unlimited until one has looked.
 */
export function deviceCapacity(
  limitMb: number | undefined,
  hosts: () => readonly EngineHost[],
): NonNullable<PlacesOptions["capacity"]> {
  return (device, holders) => {
    if (device.startsWith(WORKER)) return 1;
    if (device !== HOST) return cardsOf(hosts())?.find(({ name }) => name === device)?.bytes ?? Infinity;
    const taken = [...holders].reduce((sum, { privateBytes }) => sum + privateBytes, 0);
    return Math.min(limitMb === undefined ? Infinity : limitMb * MIB, freeMemory() + taken);
  };
}

/**
 * The accelerators of this machine, each with the most that any engine found usable when it started. Undefined until an engine
 * has found one, or failed to load its back end.
 */
export function cardsOf(hosts: readonly EngineHost[]): readonly Card[] | undefined {
  const most = new Map<string, number>();
  for (const device of hosts.flatMap(({ devices }) => devices)) {
    if (device.type !== "gpu" || isRemote(device.name)) continue;
    most.set(device.name, Math.max(most.get(device.name) ?? 0, usableBytes(device)));
  }
  const hasLooked = most.size > 0 || hosts.some(({ backend_failures: failures }) => failures.length > 0);
  return hasLooked ? Array.from(most, ([name, bytes]) => ({ name, bytes })) : undefined;
}
