// Prefixes that an earlier engine used last, restored while no sequence waits: whole where only cells are shared. Of models with
// states, the last state and the blocks before it are read into memory, from where the next turn restores them.

import type { KeptPrefixes } from "./kept-prefixes.ts";
import type { Partition } from "./partition.ts";
import type { Restoring } from "./restoring.ts";
import type { TokenPrefix } from "./sequence.ts";
import type { StateSharing } from "./state-sharing.ts";
import type { RecentPrefix } from "./tiers/recent-prefixes.ts";
import type { CacheTiers } from "./tiers/tiers.ts";

export interface RecallDeps {
  readonly tiers: CacheTiers;
  readonly kept: KeptPrefixes;
  /** Absent where states are all there is of a sequence. */
  readonly restoring: Restoring | undefined;
  /** Present where there are states. */
  readonly sharing: StateSharing | undefined;
}

export class Recalls {
  private readonly deps: RecallDeps;
  private waiting: readonly TokenPrefix[] = []; // latest first
  private reading: TokenPrefix | undefined;

  constructor(deps: RecallDeps) {
    this.deps = deps;
  }

  /** Reads which prefixes there are. `partitionOf`: that of a scope. */
  async read(partitionOf: (scope: string) => Partition): Promise<void> {
    const prefixes = await this.deps.tiers.recent();
    this.waiting = prefixes.map((prefix) => prefixOf(prefix, partitionOf(prefix.scope)));
    this.next();
  }

  /** Begins with the next of these prefixes, if nothing else is restored or read for them. */
  next(): void {
    const { tiers, kept, restoring, sharing } = this.deps;
    if (restoring?.isActive === true || (this.reading !== undefined && tiers.isReading(this.reading))) return;
    const [next, ...others] = this.waiting;
    if (next === undefined) return;
    this.waiting = others;
    if (kept.covers(next.firstTokens(next.known - 1), next.partition)) return;
    if (sharing !== undefined) {
      this.reading = next;
      tiers.request(
        next,
        () => 0,
        (at, state) => sharing.found(next, at, state),
      );
    } else if (restoring?.recall(next) === true) tiers.request(next, () => 0);
  }
}

function prefixOf({ tokens }: RecentPrefix, partition: Partition): TokenPrefix {
  return {
    partition,
    known: tokens.length + 1,
    scoresPrompt: false,
    firstTokens: (count) => tokens.subarray(0, count),
    commonPrefix: (other) => {
      const end = Math.min(tokens.length, other.length);
      const at = tokens.findIndex((token, i) => i >= end || token !== other[i]);
      return at < 0 ? end : at;
    },
  };
}
