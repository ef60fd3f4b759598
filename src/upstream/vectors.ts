// Embeddings and scores of documents by an upstream.

import type { Caller } from "../core/caller.ts";
import { defined } from "../core/defined.ts";
import type { EmbedRequest, EmbedResult, RankRequest } from "../core/run.ts";
import { truncation } from "./common-body.ts";
import { type Failure, garbageFailure } from "./failure.ts";
import { countsOf } from "./forms.ts";
import type { UpstreamServer } from "./server.ts";
import { askJson } from "./whole.ts";
import { readEmbeddings, readRanking } from "./wire.ts";

/** One vector of unit length for each input. */
export async function embedUpstream(
  { inputs, truncate }: EmbedRequest,
  server: UpstreamServer,
  signal: AbortSignal,
  caller: Caller,
): Promise<EmbedResult | Failure> {
  const body = {
    model: server.options.model,
    input: inputs,
    encoding_format: "float",
    ...(truncate ? truncation(server.facts.engine) : {}),
  };
  const call = { path: "/embeddings", body, isRepeatable: true, caller };
  const answer = await askJson(server, call, signal, readEmbeddings);
  if (!("data" in answer)) return answer;
  const vectors = answer.data
    .map(({ index, embedding }, position) => ({ index: index ?? position, embedding }))
    .sort((a, b) => a.index - b.index)
    .map(({ embedding }) => unit(embedding));
  if (vectors.length !== inputs.length) return garbageFailure();
  return { vectors, promptTokens: countsOf(answer.usage)?.promptTokens ?? 0 };
}

/** One score for each document, as a vector of one element. */
export async function rankUpstream(
  { query, documents, truncate, documentTokens }: RankRequest,
  server: UpstreamServer,
  signal: AbortSignal,
  caller: Caller,
): Promise<EmbedResult | Failure> {
  const body = {
    model: server.options.model,
    query,
    documents,
    top_n: documents.length,
    ...(truncate ? truncation(server.facts.engine) : {}),
    ...defined({ max_tokens_per_doc: documentTokens }),
  };
  const call = { path: "/rerank", body, isRepeatable: true, caller };
  const answer = await askJson(server, call, signal, readRanking);
  if (!("scores" in answer)) return answer;
  const { scores, usage } = answer;
  const vectors = documents.flatMap((_, index) => {
    const score = scores.get(index);
    return score === undefined ? [] : [[score]];
  });
  if (vectors.length !== documents.length) return garbageFailure();
  return { vectors, promptTokens: countsOf(usage)?.promptTokens ?? 0 };
}

function unit(vector: readonly number[]): readonly number[] {
  const length = Math.hypot(...vector);
  return length === 0 || Math.abs(length - 1) < 1e-6 ? vector : vector.map((value) => value / length);
}
