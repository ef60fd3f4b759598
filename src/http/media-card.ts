// What a model's card says of media in requests: formats and limits.

import { type Static, type TSchema, Type } from "@sinclair/typebox";
import { defined } from "../core/defined.ts";
import { MEDIA_BYTES_MAX, PICTURE_PIXELS_MAX, REQUEST_MEDIA_BYTES_MAX } from "../core/limits.ts";
import { isPerceived, type MediaRules } from "../core/media.ts";
import { MEDIA_FORMATS } from "../core/media-file.ts";
import type { InputModality } from "../core/agent.ts";
import { count } from "../core/schema-fields.ts";

/** Formats of a kind of media, and its own limits. */
function kind<T extends Record<string, TSchema>>(limits: T, description: string) {
  return Type.Optional(
    Type.Object(
      {
        formats: Type.Array(Type.String(), { description: "Formats that are always read." }),
        formats_with_ffmpeg: Type.Array(Type.String(), {
          description: "Formats that are read where ffmpeg is installed on the server.",
        }),
        ...limits,
      },
      { description },
    ),
  );
}

export const ModelMedia = Type.Object(
  {
    max_file_bytes: count("Largest file."),
    max_request_bytes: count("Of all files of a request together."),
    image: kind(
      {
        max_images: count("Images of a request."),
        max_pixels: count("Width × height of an image."),
        max_edge: Type.Optional(
          count("Longest edge of an image, pixels; absent: only its pixels are bounded."),
        ),
      },
      "Images; absent where the model takes none.",
    ),
    audio: kind(
      {
        max_seconds: count(
          "Of all sounds of a request together; what is longer is cut, and the answer says so.",
        ),
      },
      "Sounds; absent where the model takes none.",
    ),
    video: kind(
      { max_frames: count("Frames of a video; they count as images.") },
      "Videos, for models that take images.",
    ),
  },
  {
    $id: "ModelMedia",
    description:
      "Media that requests may bring; absent until the model has been loaded once, and where it takes none.",
  },
);

/** The media of a model with these rules; undefined where it takes none. */
export function mediaCard(rules: MediaRules): Static<typeof ModelMedia> | undefined {
  if (rules.modalities.length === 0) return undefined;
  const limits = {
    image: {
      max_images: rules.imagesMax,
      max_pixels: PICTURE_PIXELS_MAX,
      ...defined({ max_edge: rules.edgeMax }),
    },
    audio: { max_seconds: rules.audioSecondsMax },
    video: { max_frames: rules.videoFramesMax },
  };
  const of = <K extends InputModality>(modality: K) =>
    isPerceived(modality, rules) ? { [modality]: { ...formatsOf(modality), ...limits[modality] } } : {};
  return {
    max_file_bytes: MEDIA_BYTES_MAX,
    max_request_bytes: REQUEST_MEDIA_BYTES_MAX,
    ...of("image"),
    ...of("audio"),
    ...of("video"),
  };
}

function formatsOf(modality: InputModality) {
  const { always, withFfmpeg } = MEDIA_FORMATS[modality];
  return { formats: [...always], formats_with_ffmpeg: [...withFfmpeg] };
}
