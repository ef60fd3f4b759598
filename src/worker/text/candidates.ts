// Which of the waiting sequences may get a slot, and whose media are encoded meanwhile.

import type { AdapterId } from "../../core/adapter.ts";
import type { EngineSequence } from "./choice.ts";
import type { KvCache } from "./kv.ts";
import type { MediaStore } from "./media.ts";
import type { Candidate } from "./scheduler.ts";

/** Waiting sequences looked at in one step, and those of them whose media are encoded ahead. */
const CANDIDATES_MAX = 8;

/** Those that wait, first come first, and what they may find. */
export interface QueueView {
  readonly waiting: readonly EngineSequence[];
  readonly running: readonly EngineSequence[];
  readonly kv: KvCache;
  readonly media: MediaStore;
}

/** For one adapter's step: at most so many. */
export interface CandidateSearch extends QueueView {
  readonly adapter: AdapterId;
  readonly most: number;
}

/**
 * The first waiting sequences with what each finds in the cache, less those that had better wait for a prefix and those whose
 * media are not encoded yet. Nobody overtakes a sequence of another adapter: its turn comes soon, and it must find room then.
 */
export function findCandidates(search: CandidateSearch): readonly Candidate<EngineSequence>[] {
  const { waiting, running, kv, media, adapter } = search;
  if (waiting.length === 0) return [];
  const candidates: Candidate<EngineSequence>[] = [];
  const ahead: EngineSequence[] = [];
  const most = Math.min(CANDIDATES_MAX, search.most);
  for (const sequence of waiting) {
    if (candidates.length >= most) break;
    const alien = sequence.adapter !== adapter;
    if (alien && sequence.media.length === 0) break;
    const { shared, sharedPinned, wait, divergence } = kv.match(sequence, running, ahead);
    divergence?.from.addBoundary(divergence.at);
    const encoded = wait || media.has(sequence, shared);
    if (alien && encoded) break;
    if (alien || wait || !encoded) continue;
    kv.prepare(sequence, shared, running);
    candidates.push({ sequence, shared, sharedPinned });
    ahead.push(sequence);
  }
  return candidates;
}

/** Begins to encode what the first of those that wait will need. Whoever finds it in the cache needs nothing. */
export function requestEncodings({ waiting, running, kv, media }: QueueView): void {
  let looked = 0;
  for (const sequence of waiting) {
    if (sequence.media.length === 0) continue;
    if (looked++ >= CANDIDATES_MAX) return;
    const { shared, wait } = kv.match(sequence, running, []);
    if (!wait) media.want(sequence, sequence.owner.run.prompt, shared);
  }
}
