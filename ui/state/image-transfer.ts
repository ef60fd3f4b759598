// Generated images in export files: their bytes as data URLs.

import { type Static, Type } from "@sinclair/typebox";
import { Value } from "@sinclair/typebox/value";
import { dataUrl } from "./attachments.ts";
import type { StoredImage } from "./image-store.ts";
import { bytesOf } from "./text-files.ts";

const ExportedImage = Type.Object({
  id: Type.String({ minLength: 1 }),
  created: Type.Number(),
  prompt: Type.String(),
  model: Type.String(),
  width: Type.Number(),
  height: Type.Number(),
  secs: Type.Number(),
  data: Type.String({ pattern: "^data:image/[a-z]+;base64,[A-Za-z0-9+/]+=*$" }),
});
export type ExportedImage = Static<typeof ExportedImage>;

export async function exportedImage({ data, ...image }: StoredImage): Promise<ExportedImage> {
  return { ...image, data: await dataUrl(data, data.type, image.prompt) };
}

/** The valid images of a list. */
export function imagesIn(list: unknown): readonly StoredImage[] {
  const entries: readonly unknown[] = Array.isArray(list) ? list : [];
  return entries
    .filter((entry) => Value.Check(ExportedImage, entry))
    .map(({ data, ...image }) => {
      const type = data.slice("data:".length, data.indexOf(";"));
      return { ...image, data: new Blob([bytesOf({ data })], { type }) };
    });
}
