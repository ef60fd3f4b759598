// Converts a rerank body to a RankRequest. Pure.

import { type Compat, STRICT } from "../../core/compat.ts";
import { bodyChecker } from "../shared/unknown-fields.ts";
import type { RankRequest } from "../../core/run.ts";
import { runKeepAlive } from "../shared/keep-alive.ts";
import { isPresent } from "../shared/check.ts";
import { RerankRequest } from "./schema.ts";

/** A parsed rerank request. */
export interface RerankCall {
  readonly request: RankRequest;
  /** Cap on results. */
  readonly top: number;
  /** Include the documents in the results. */
  readonly withDocuments: boolean;
}

const checkBody = bodyChecker(RerankRequest);

/** Parses a request body; throws a ServiceError naming the field at fault and the accepted values. */
export function parseRerankRequest(
  json: Readonly<Record<string, unknown>>,
  compat: Compat = STRICT,
): RerankCall {
  const body = checkBody(json, compat);
  const documents = body.documents.map((one) => (typeof one === "string" ? one : one.text));
  return {
    request: {
      model: body.model ?? "default",
      query: body.query,
      documents,
      ...(isPresent(body.max_tokens_per_doc) ? { documentTokens: body.max_tokens_per_doc } : {}),
      truncate: body.truncate_sequence ?? false,
      ...runKeepAlive(body),
    },
    top: body.top_n ?? documents.length,
    withDocuments: body.return_documents ?? false,
  };
}
