// Reranks the best passages by the cosine similarity of their embeddings to the query's.

import { itemAt } from "../core/assert.ts";
import type { Caller } from "../core/caller.ts";
import { PASSAGES_RERANKED_MAX } from "../core/limits.ts";
import type { Embed } from "../core/run.ts";
import type { Passage, ReadHit } from "../reader/protocol.ts";

/** Reorders passages. Throws what the model throws. */
export type Rerank = (
  query: string,
  found: { readonly hits: readonly ReadHit[]; readonly passages: readonly Passage[] },
  signal: AbortSignal,
  caller: Caller,
) => Promise<readonly Passage[]>;

/** Prompt format of an embedding model. */
export interface EmbedForm {
  readonly query: (text: string) => string;
  readonly passage: (title: string, text: string) => string;
}

export const PLAIN_FORM: EmbedForm = { query: (text) => text, passage: (title, text) => `${title}\n${text}` };

/** Format that EmbeddingGemma was trained with. */
export const GEMMA_FORM: EmbedForm = {
  query: (text) => `task: search result | query: ${text}`,
  passage: (title, text) => `title: ${title || "none"} | text: ${text}`,
};

export function embeddingRerank(embed: Embed, model: string, form: EmbedForm): Rerank {
  return async (query, { hits, passages }, signal, caller) => {
    const best = passages.slice(0, PASSAGES_RERANKED_MAX);
    const texts = best.map(({ hit, text }) => form.passage(itemAt(hits, hit).title, text));
    const inputs = [form.query(query), ...texts];
    const { vectors } = await embed({ model, inputs, truncate: true }, signal, caller);
    const wanted = itemAt(vectors, 0);
    const scored = best.map((passage, index) => ({
      passage,
      score: product(wanted, itemAt(vectors, index + 1)),
    }));
    const ranked = scored.toSorted((a, b) => b.score - a.score).map(({ passage }) => passage);
    return [...ranked, ...passages.slice(PASSAGES_RERANKED_MAX)];
  };
}

/** Dot product: the cosine similarity of unit vectors. */
function product(one: readonly number[], other: readonly number[]): number {
  return one.reduce((sum, value, index) => sum + value * itemAt(other, index), 0);
}
