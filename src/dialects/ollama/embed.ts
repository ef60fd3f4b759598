// Converts bodies of /api/embed and /api/embeddings to an EmbedRequest, and vectors to response bodies. Pure.

import { type Compat, STRICT } from "../../core/compat.ts";
import { bodyChecker } from "../shared/unknown-fields.ts";
import type { EmbedRequest, EmbedResult } from "../../core/run.ts";
import { isPresent } from "../shared/check.ts";
import { nanosecondsOf, type OllamaEmbedResponse } from "./answer.ts";
import { type KeepAlive, keepAliveOf } from "../shared/keep-alive.ts";
import { truncatedVectors } from "../shared/vectors.ts";
import { OllamaEmbeddingsRequest, OllamaEmbedRequest } from "./schema.ts";

export interface OllamaEmbedCall {
  /** A request without inputs only loads the model. */
  readonly request: EmbedRequest;
  /** Length of the vectors; undefined: that of the model. */
  readonly dimensions: number | undefined;
  readonly keepAlive: KeepAlive;
}

const checkEmbed = bodyChecker(OllamaEmbedRequest);
const checkEmbeddings = bodyChecker(OllamaEmbeddingsRequest);

/** Parses the body of /api/embed; throws a ServiceError naming the field at fault and the accepted values. */
export function parseOllamaEmbed(
  json: Readonly<Record<string, unknown>>,
  compat: Compat = STRICT,
): OllamaEmbedCall {
  const body = checkEmbed(json, compat);
  const texts = typeof body.input === "string" ? [body.input] : body.input;
  return {
    request: {
      model: body.model ?? "default",
      inputs: texts.filter((text) => text !== ""),
      truncate: body.truncate ?? true,
    },
    dimensions: body.dimensions ?? undefined,
    keepAlive: keepAliveOf(body.keep_alive),
  };
}

/** Parses the body of /api/embeddings, the older route; throws likewise. */
export function parseOllamaEmbeddings(
  json: Readonly<Record<string, unknown>>,
  compat: Compat = STRICT,
): OllamaEmbedCall {
  const body = checkEmbeddings(json, compat);
  const inputs = isPresent(body.prompt) && body.prompt !== "" ? [body.prompt] : [];
  return {
    request: { model: body.model ?? "default", inputs, truncate: true },
    dimensions: undefined,
    keepAlive: keepAliveOf(body.keep_alive),
  };
}

/** The response body of /api/embed. Times are seconds. */
export function embedBody(
  result: EmbedResult,
  { request, dimensions }: OllamaEmbedCall,
  { totalSecs, loadSecs }: { readonly totalSecs: number; readonly loadSecs: number },
): OllamaEmbedResponse {
  return {
    model: request.model,
    embeddings: truncatedVectors(result.vectors, dimensions),
    total_duration: nanosecondsOf(totalSecs),
    load_duration: nanosecondsOf(loadSecs),
    prompt_eval_count: result.promptTokens,
  };
}
