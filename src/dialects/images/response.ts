// Pictures → the response body.

import type { ImageGenerationResponse } from "./schema.ts";

/** A picture as it leaves: a file of the server, or its bytes in base64. */
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
