// Converts images to the response body.

import type { ImageGenerationResponse } from "./schema.ts";

/** An image in an answer: a file on the server, or inline base64. */
export type SentImage =
  | { readonly type: "file"; readonly file: string; readonly path: string }
  | { readonly type: "inline"; readonly png: string };

/** The body; `created` is the Unix time of the answer. */
export function imageBody(images: readonly SentImage[], created: number): ImageGenerationResponse {
  const data = images.map((image) =>
    image.type === "file"
      ? { url: image.file, content_url: image.path }
      : { b64_json: `data:image/png;base64,${image.png}` },
  );
  return { created, data };
}
