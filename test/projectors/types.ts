// Projector types that llama.cpp's mtmd loads, each as a file with random weights as small as it takes them: hyperparameters and
// tensors as clip.cpp of the locked release reads them. What is not built has its reason.

import type { Field } from "../../src/core/gguf.ts";
import { boolField, stringField, writeGguf } from "../../src/lora/gguf-write.ts";
import { encoderFields, f32sField, SOUND } from "../helpers/write-projector.ts";
import { AUDIO_TYPES } from "./audio.ts";
import { IMAGE_TOWERS } from "./image-towers.ts";
import { IMAGE_TYPES } from "./images.ts";
import { audio, EDGE, ENCODER, M, PATCH, type ProjectorType, vision } from "./parts.ts";

export const PROJECTOR_TYPES: readonly ProjectorType[] = [
  ...[...IMAGE_TYPES, ...IMAGE_TOWERS].map((one) => ({ ...one, medium: "image" }) as const),
  ...AUDIO_TYPES.map((one) => ({ ...one, medium: "audio" }) as const),
];

/** Why the other types of clip-impl.h have no file here. */
export const NOT_BUILT: Readonly<Record<string, readonly string[]>> = {
  "this release of llama.cpp knows the name and has no encoder": ["gemma3na"],
  "it encodes or makes voices for speech, not input of a text model": [
    "qwen3tts_spkenc",
    "qwen3tts_gen",
    "pockettts_spkenc",
    "pockettts_gen",
  ],
};

/** Writes the file of a type. */
export function writeProjectorType(path: string, projector: ProjectorType): void {
  const { type, medium, edge = EDGE, patch = PATCH, encoder = ENCODER, outputs = M } = projector;
  const kind = medium === "image" ? "vision" : "audio";
  const own: readonly Field[] =
    medium === "image"
      ? [
          vision("image_size", edge),
          vision("patch_size", patch),
          f32sField("clip.vision.image_mean", [0.5, 0.5, 0.5]),
          f32sField("clip.vision.image_std", [0.5, 0.5, 0.5]),
        ]
      : [audio("num_mel_bins", SOUND.mels)];
  writeGguf(
    path,
    [
      stringField("general.architecture", "clip"),
      stringField("general.type", "mmproj"),
      boolField(`clip.use_${projector.activation ?? "gelu"}`, true),
      boolField(`clip.has_${kind}_encoder`, true),
      stringField(`clip.${kind}.projector_type`, type),
      ...encoderFields(kind, encoder, outputs),
      ...own,
      ...(projector.fields ?? []),
    ],
    projector.tensors(),
  );
}
