// Projector files with random weights for the built-in model, as small as llama.cpp takes them.

import { join } from "node:path";
import type { Modality } from "../../src/core/message.ts";
import { tempDir } from "./tmp.ts";
import { writeProjector } from "./write-projector.ts";

/** Width of the built-in model's embeddings. */
const MODEL_WIDTH = 256;
const SMALL = { width: 32, ffn: 64, heads: 2 } as const;
const VISION_ENCODER = { ...SMALL, layers: 2, edge: 32, patch: 8 } as const;
/** Tokens of a picture: one a patch. */
export const PICTURE_TOKENS = (VISION_ENCODER.edge / VISION_ENCODER.patch) ** 2;

/** The file, with encoders for what is asked for, for models whose embeddings are so wide. */
export function tinyMmproj(
  kinds: readonly Modality[] = ["image", "audio"],
  modelWidth = MODEL_WIDTH,
): string {
  const path = join(tempDir(), `mmproj-${kinds.join("-")}.gguf`);
  writeProjector(path, {
    modelWidth,
    ...(kinds.includes("image") ? { images: VISION_ENCODER } : {}),
    ...(kinds.includes("audio") ? { sounds: { ...SMALL, layers: 1 } } : {}),
  });
  return path;
}

/** One whose images have any size, and positions in two dimensions: for tinyWidePositions. */
export function tinyWideMmproj(): string {
  const path = join(tempDir(), "mmproj-wide.gguf");
  writeProjector(path, { modelWidth: MODEL_WIDTH, images: { ...VISION_ENCODER, wide: true } });
  return path;
}
