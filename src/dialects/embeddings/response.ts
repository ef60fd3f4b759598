// Converts vectors to the response body.

import type { EmbedResult } from "../../core/run.ts";
import type { EncodingFormat } from "./request.ts";
import type { EmbeddingResponse, EmbeddingVector } from "./schema.ts";

/** Bytes of a 32-bit float. */
const FLOAT_BYTES = 4;

/** The body; `model` is the id of the model that answered. */
export function embeddingBody(
  { vectors, promptTokens }: EmbedResult,
  model: string,
  format: EncodingFormat,
): EmbeddingResponse {
  return {
    object: "list",
    data: vectors.map((vector, index) => ({
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
