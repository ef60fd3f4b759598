// Converts vectors to the response body.

import { ServiceError } from "../../core/error.ts";
import type { EmbedResult } from "../../core/run.ts";
import { truncatedVectors } from "../shared/vectors.ts";
import type { EmbeddingCall, EncodingFormat } from "./request.ts";
import type { EmbeddingResponse, EmbeddingVector } from "./schema.ts";

/** Bytes of a 32-bit float. */
const FLOAT_BYTES = 4;

/** The body; `model` is the id of the model that answered. Throws if it was asked for longer vectors than the model has. */
export function embeddingBody(
  { vectors, promptTokens }: EmbedResult,
  model: string,
  { format, dimensions }: Omit<EmbeddingCall, "request">,
): EmbeddingResponse {
  const { length } = vectors[0] ?? [];
  if (dimensions !== undefined && dimensions > length) {
    const message = `dimensions is ${dimensions}, but vectors of the model have ${length} numbers; ask for at most ${length}, or omit it`;
    throw new ServiceError("unsupported_value", message, { param: "dimensions" });
  }
  return {
    object: "list",
    data: truncatedVectors(vectors, dimensions).map((vector, index) => ({
      object: "embedding",
      index,
      embedding: encoded(vector, format),
    })),
    model,
    usage: { prompt_tokens: promptTokens, total_tokens: promptTokens },
  };
}

function encoded(vector: readonly number[], format: EncodingFormat): EmbeddingVector {
  if (format === "float") return [...vector];
  const floats = new DataView(new ArrayBuffer(vector.length * FLOAT_BYTES));
  for (const [index, value] of vector.entries()) floats.setFloat32(index * FLOAT_BYTES, value, true);
  return Buffer.from(floats.buffer).toString("base64");
}
