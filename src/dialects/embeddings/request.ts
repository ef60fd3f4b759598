// Converts an embeddings body to an EmbedRequest. Pure.

import { type Compat, STRICT } from "../../core/compat.ts";
import { defined } from "../../core/defined.ts";
import { ServiceError } from "../../core/error.ts";
import type { EmbedRequest } from "../../core/run.ts";
import { runKeepAlive } from "../shared/keep-alive.ts";
import { isPresent } from "../shared/check.ts";
import { bodyChecker } from "../shared/unknown-fields.ts";
import { serveOrRefuse } from "../shared/compat.ts";
import { EmbeddingRequest } from "./schema.ts";

export type EncodingFormat = "float" | "base64";

/** A parsed embeddings request. */
export interface EmbeddingCall {
  readonly request: EmbedRequest;
  readonly format: EncodingFormat;
  /** Length of the vectors; undefined: that of the model. */
  readonly dimensions?: number;
}

const checkBody = bodyChecker(EmbeddingRequest);

/** Parses a request body; throws a ServiceError naming the field at fault and the accepted values. */
export function parseEmbeddingRequest(
  json: Readonly<Record<string, unknown>>,
  compat: Compat = STRICT,
): EmbeddingCall {
  const body = checkBody(json, compat);
  if (isPresent(body.dimensions)) checkDimensions(body.dimensions, compat);
  return {
    request: {
      model: body.model ?? "default",
      inputs: inputsOf(body.input),
      truncate: body.truncate_sequence ?? false,
      ...runKeepAlive(body),
    },
    format: body.encoding_format ?? "float",
    ...defined({ dimensions: body.dimensions ?? undefined }),
  };
}

/** An array of numbers is one input; any other array has one input per item. */
function inputsOf(input: EmbeddingRequest["input"]): EmbedRequest["inputs"] {
  if (typeof input === "string") return [input];
  const inputs: (string | readonly number[])[] = [];
  const tokens: number[] = [];
  for (const item of input) {
    if (typeof item === "number") tokens.push(item);
    else inputs.push(item);
  }
  return tokens.length > 0 ? [tokens] : inputs;
}

function checkDimensions(dimensions: number, compat: Compat): void {
  const refusal = (message: string) =>
    new ServiceError("unsupported_value", message, { param: "dimensions" });
  const message = "dimensions is not supported, vectors have the length of the model; omit it";
  serveOrRefuse(compat, "dimensions", refusal(message));
  if (dimensions < 1)
    throw refusal("dimensions must be at least 1; send the length of the vectors, or omit it");
}
