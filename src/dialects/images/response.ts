// Converts images to the response body.

import type { ImageGenerationResponse } from "./schema.ts";

/** An image in an answer: a file on the server, or inline base64. */
export type SentImage =
  | { readonly type: "file"; readonly file: string; readonly path: string }
  | { readonly type: "inline"; readonly png: string };

export interface ImageBodyOptions {
  /** Unix time of the answer. */
  readonly created: number;
  /** Address of this server as the client has it, for OpenAI's form: URLs that can be fetched, base64 alone. */
  readonly origin?: string;
}

/** The body. */
export function imageBody(
  images: readonly SentImage[],
  { created, origin }: ImageBodyOptions,
): ImageGenerationResponse {
  const head = origin === undefined ? "data:image/png;base64," : "";
  const data = images.map((image) =>
    image.type === "file"
      ? { url: origin === undefined ? image.file : origin + image.path, content_url: image.path }
      : { b64_json: head + image.png },
  );
  return { created, data };
}
