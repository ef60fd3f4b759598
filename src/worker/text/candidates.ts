// Candidates for admission among the waiting sequences, and whose media are encoded in advance.

import type { AdapterId } from "../../core/adapter.ts";
import { awaitsGrammar, type EngineSequence } from "./choice.ts";
import type { KvCache } from "./kv.ts";
import type { MediaStore } from "./media.ts";
import type { Candidate } from "./scheduler.ts";

/** Waiting sequences considered in one step, and those whose media are encoded in advance. */
const CANDIDATES_MAX = 8;

/** The request queue, oldest first, and the caches that its sequences may share. */
export interface QueueView {
  readonly waiting: readonly EngineSequence[];
  readonly running: readonly EngineSequence[];
  readonly kv: KvCache;
  readonly media: MediaStore;
}

/** For a step of one adapter. */
export interface CandidateSearch extends QueueView {
  readonly adapter: AdapterId;
  readonly max: number;
}

/**
 * The first waiting sequences with their prefix hits, except those that should wait for a prefix, those whose blocks are
 * being read or restored, those whose media are not encoded yet and those whose next token needs a grammar that is not compiled yet.
 * The search stops at a sequence of another adapter: it must find room when its adapter is scheduled.
 */
export function findCandidates(search: CandidateSearch): readonly Candidate<EngineSequence>[] {
  const { waiting, running, kv, media, adapter } = search;
  if (waiting.length === 0) return [];
  const candidates: Candidate<EngineSequence>[] = [];
  const ahead: EngineSequence[] = [];
  const max = Math.min(CANDIDATES_MAX, search.max);
  for (const sequence of waiting) {
    if (candidates.length >= max) break;
    if (kv.isHeld(sequence, running) || awaitsGrammar(sequence)) continue;
    const isOther = sequence.adapter !== adapter;
    if (isOther && sequence.media.length === 0) break;
    const match = kv.find(sequence, running, ahead);
    const { shared, sharedPinned, wait, divergence } = match;
    divergence?.from.addBoundary(divergence.at);
    const encoded = wait || media.has(sequence, shared);
    if (isOther && encoded) break;
    if (isOther || wait || !encoded) continue;
    const restored = kv.restoreFirst(sequence, match, running);
    if (restored === "full") break;
    if (restored === "later") continue;
    kv.prepare(sequence, shared, running);
    candidates.push({ sequence, shared, sharedPinned });
    ahead.push(sequence);
  }
  return candidates;
}

/** Starts to encode the media of the first waiting sequences that they will not find in the cache. */
export function requestEncodings({ waiting, running, kv, media }: QueueView): void {
  let considered = 0;
  for (const sequence of waiting) {
    if (sequence.media.length === 0) continue;
    if (considered++ >= CANDIDATES_MAX) return;
    const { shared, wait } = kv.find(sequence, running);
    if (!wait) media.request(sequence, sequence.owner.run.prompt, shared);
  }
}
