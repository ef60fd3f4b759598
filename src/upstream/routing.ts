// Chooses an upstream for a request. Pure.

import { LOAD_FACTOR } from "./limits.ts";
import type { Policy } from "./options.ts";

/** An upstream that takes requests at present. */
export interface Candidate {
  /** Identifies it over restarts and on every server with the same upstreams. */
  readonly name: string;
  readonly inFlight: number;
  readonly weight: number;
  /** It may have another request. */
  readonly hasRoom: boolean;
  /** Blocks of the request's beginning that it has computed. */
  readonly depth: number;
}

export interface RoutingContext {
  readonly policy: Policy;
  /** Hash of the conversation's beginning. */
  readonly key: number;
  /** Requests routed before this one. */
  readonly turn: number;
}

/**
 * The candidate for a request; undefined where none has room. `prefix`: the one with the longest computed beginning among
 * those within LOAD_FACTOR times the mean load; equal ones in the order of rendezvous hashing, which every server in front of
 * the same upstreams computes alike.
 */
export function choose<C extends Candidate>(
  candidates: readonly C[],
  context: RoutingContext,
): C | undefined {
  const free = candidates.filter(({ hasRoom }) => hasRoom);
  if (free.length < 2) return free[0];
  switch (context.policy) {
    case "round_robin":
      return inTurn(free, context.turn);
    case "least_busy":
      return best(free, (one) => [-one.inFlight / one.weight, rendezvous(one, context.turn)]);
    case "prefix": {
      const within = free.filter((one) => one.inFlight + 1 <= loadBound(one, candidates));
      const eligible = within.length > 0 ? within : free;
      return best(eligible, (one) => [one.depth, rendezvous(one, context.key)]);
    }
  }
}

/** Requests in flight that an upstream may have under the prefix policy, the new one included. */
function loadBound({ weight }: Candidate, all: readonly Candidate[]): number {
  const requests = all.reduce((sum, { inFlight }) => sum + inFlight, 1);
  const weights = all.reduce((sum, one) => sum + one.weight, 0);
  return Math.max(1, Math.ceil((LOAD_FACTOR * requests * weight) / weights));
}

/** Weighted: an upstream of weight 2 has two turns in each round. */
function inTurn<C extends Candidate>(free: readonly C[], turn: number): C | undefined {
  const total = free.reduce((sum, { weight }) => sum + weight, 0);
  // Golden-ratio steps visit the shares evenly and need no state but the turn.
  let at = ((turn * 0.618_033_988_749_895) % 1) * total;
  if (free.every(({ weight }) => weight === free[0]?.weight)) return free[turn % free.length];
  for (const one of free) {
    if (at < one.weight) return one;
    at -= one.weight;
  }
  return free.at(-1);
}

/** Weighted rendezvous hashing (Wang, Ravishankar: logarithmic method): the highest value wins. */
function rendezvous({ name, weight }: Candidate, key: number): number {
  const hash = Number(Bun.hash.wyhash(name, BigInt(key)) & 0x1f_ffff_ffff_ffffn);
  return -weight / Math.log((hash + 1) / (2 ** 53 + 1));
}

/** The one with the highest value; the values of an array count in their order. */
function best<C>(all: readonly C[], valueOf: (one: C) => readonly [number, number]): C | undefined {
  let found: C | undefined;
  let highest: readonly [number, number] = [-Infinity, -Infinity];
  for (const one of all) {
    const value = valueOf(one);
    if (value[0] < highest[0] || (value[0] === highest[0] && value[1] <= highest[1])) continue;
    found = one;
    highest = value;
  }
  return found;
}
