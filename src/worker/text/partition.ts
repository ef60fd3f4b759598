// Partitions of the KV cache: sequences of different ones share no cells. Those of other adapters are computed differently;
// a hit on those of another API key would tell, by its time, what others have asked.

import { type AdapterId, BASE_MODEL } from "../../core/adapter.ts";

/** Compared by identity: Partitions makes each once. */
export interface Partition {
  readonly adapter: AdapterId;
  /** Whom it belongs to; "" where everybody shares. */
  readonly scope: string;
}

/** Of the base model, shared by everybody. */
export const COMMON_PARTITION: Partition = { adapter: BASE_MODEL, scope: "" };

/** The partitions of an engine: at most one for each adapter and API key. */
export class Partitions {
  private known: Partition[] = [COMMON_PARTITION];

  of(adapter: AdapterId, scope = ""): Partition {
    const found = this.known.find((one) => one.adapter === adapter && one.scope === scope);
    if (found !== undefined) return found;
    const partition = { adapter, scope };
    this.known.push(partition);
    return partition;
  }

  /** An adapter was unloaded. */
  forgetAdapter(adapter: AdapterId): void {
    this.known = this.known.filter((one) => one === COMMON_PARTITION || one.adapter !== adapter);
  }
}
