// Checks images and audio against what a model accepts, by their bytes; names and types of the sender are ignored.

import { invalidField, ServiceError } from "./error.ts";
import {
  AUDIO_SECONDS_MAX,
  IMAGES_MAX,
  MEDIA_BYTES_MAX,
  PICTURE_PIXELS_MAX,
  RESAMPLED_MAX,
  RESAMPLED_RATE_MAX,
  SOUND_RATE,
  VIDEO_FRAMES_MAX,
} from "./limits.ts";
import type { InputModality } from "./agent.ts";
import { FORMATS_READ, type MediaFile, mediaFile } from "./media-file.ts";
import type { MediaPart, Modality } from "./message.ts";
import type { ImageSize } from "./image-file.ts";

/** Media that a model accepts, and their limits per request. */
export interface MediaRules {
  readonly modalities: readonly Modality[];
  readonly imagesMax: number;
  /** Longest edge of an image, pixels; absent: only its pixels are bounded. */
  readonly edgeMax?: number;
  /** Of all audio together. */
  readonly audioSecondsMax: number;
  /** Of one video; they count as images. */
  readonly videoFramesMax: number;
  /** Another server decodes sounds, and may use all that is in them. */
  readonly keepsSounds?: true;
}

/** Limits that one model sets for itself; absent ones are those of ANY_MEDIA. */
export type MediaLimits = Partial<Omit<MediaRules, "modalities">>;

/** Limits where no model is involved. */
export const ANY_MEDIA: MediaRules = {
  modalities: ["image", "audio"],
  imagesMax: IMAGES_MAX,
  audioSecondsMax: AUDIO_SECONDS_MAX,
  videoFramesMax: VIDEO_FRAMES_MAX,
};

export const NO_MEDIA: MediaRules = {
  modalities: [],
  imagesMax: 0,
  audioSecondsMax: 0,
  videoFramesMax: 0,
};

const WORDS = {
  image: { medium: "an image", taken: "images", noun: "image", cannot: "You cannot see images." },
  audio: { medium: "an audio file", taken: "audio", noun: "audio file", cannot: "You cannot hear audio." },
} as const;

const VIDEO = { medium: "a video, whose frames are images", taken: "images" } as const;

/** Whether the model takes them. */
export function isPerceived(modality: InputModality, { modalities }: MediaRules): boolean {
  return modalities.includes(modality === "video" ? "image" : modality);
}

/** Stands for a medium of a client's tool that the model does not take, so that its session goes on. */
export function unperceivedNote(modality: InputModality): string {
  return `[${modality}: this model cannot ${modality === "audio" ? "hear audio" : "see images"}]`;
}

/** Throws `unsupported_capability` where the model does not take them. `beginning` is that of the message. */
export function refuseUnperceived(
  modality: InputModality,
  rules: MediaRules,
  param: string,
  beginning: string,
): void {
  if (isPerceived(modality, rules)) return;
  const { medium, taken } = modality === "video" ? VIDEO : WORDS[modality];
  const message =
    `${beginning} ${medium}, but the model does not accept ${taken}; omit it, or name a model that accepts ${taken} ` +
    "(on this server: one with a projector, the setting mmproj)";
  throw new ServiceError("unsupported_capability", message, { param });
}

/** A medium that may be decoded. */
export interface CheckedMedium {
  readonly part: MediaPart;
  /** Of audio. */
  readonly seconds: number;
  readonly format: string;
  /** The engine does not read it. */
  readonly isForeign: boolean;
  /** What the engine does not read, or would not perceive as it is meant: turned, animated, not opaque, of another rate. */
  readonly isConverted: boolean;
}

/**
 * The part that these bytes are. Throws `invalid_request` or `payload_too_large`, naming the field, for what is no medium
 * of this kind, damaged at its head, or larger than the rules allow.
 */
export function checkedMedium(
  bytes: Uint8Array<ArrayBuffer>,
  modality: Modality,
  { edgeMax, keepsSounds }: Pick<MediaRules, "edgeMax" | "keepsSounds">,
  param: string,
): CheckedMedium {
  refuseManyBytes(bytes, param);
  const file = mediumOf(bytes, modality);
  const accepted = `send ${FORMATS_READ[modality]}`;
  if (file?.modality !== modality) {
    const what = file === undefined ? "of an unknown format" : `a ${file.format} file`;
    throw invalidField(param, `must be ${WORDS[modality].medium}, but it is ${what}; ${accepted}`);
  }
  const part: MediaPart = { type: modality, data: bytes.toBase64() };
  if (file.modality === "image") {
    if (file.size === undefined) throw invalidField(param, `is a damaged ${file.format} file; ${accepted}`);
    refuseLarge(file.size, edgeMax, param);
    const isForeign = file.isForeign === true;
    const isOther = file.orientation !== undefined || file.isAnimated === true || file.isClear === true;
    const isConverted = isForeign || isOther;
    return { part, seconds: 0, format: file.format, isForeign, isConverted };
  }
  const isForeign = file.isForeign === true;
  if (file.seconds === undefined && !isForeign) {
    const problem = `is a ${file.format} file without a duration, so it is cut off or damaged; ${accepted}`;
    throw invalidField(param, problem);
  }
  const { format, seconds = 0, rate = SOUND_RATE } = file;
  const isBounded = rate <= RESAMPLED_RATE_MAX && seconds * rate <= RESAMPLED_MAX;
  const isOther = keepsSounds !== true && rate !== SOUND_RATE && isBounded;
  return { part, seconds, format, isForeign, isConverted: isForeign || isOther };
}

/** What a file is. A container of videos is taken for a sound where one is asked for. */
function mediumOf(bytes: Uint8Array<ArrayBuffer>, modality: Modality): MediaFile | undefined {
  const file = mediaFile(bytes);
  return modality === "audio" && file?.modality === "video"
    ? { modality: "audio", format: file.format, isForeign: true }
    : file;
}

/** Image formats that may be animated, and then are videos. */
const ANIMATIONS = new Set(["GIF", "WebP"]);

/** Its format, and whether it is an image file. Throws `invalid_request` or `payload_too_large`, naming the field, for what is no video. */
export function checkedVideo(
  bytes: Uint8Array<ArrayBuffer>,
  param: string,
): { readonly format: string; readonly isImage: boolean } {
  refuseManyBytes(bytes, param);
  const file = mediaFile(bytes);
  const isImage = file !== undefined && ANIMATIONS.has(file.format);
  if (file !== undefined && (isImage || file.modality === "video")) return { format: file.format, isImage };
  const what = file === undefined ? "of an unknown format" : `a ${file.format} file`;
  throw invalidField(param, `must be a video, but it is ${what}; send ${FORMATS_READ.video}`);
}

function refuseManyBytes({ byteLength }: Uint8Array<ArrayBuffer>, param: string): void {
  if (byteLength <= MEDIA_BYTES_MAX) return;
  const message = `${param} has ${byteLength} bytes; at most ${MEDIA_BYTES_MAX} are accepted`;
  throw new ServiceError("payload_too_large", message, { param });
}

function refuseLarge({ width, height }: ImageSize, edgeMax: number | undefined, param: string): void {
  const is = `is an image of ${width} × ${height} pixels`;
  if (width * height > PICTURE_PIXELS_MAX)
    throw invalidField(param, `${is}; at most ${PICTURE_PIXELS_MAX} pixels are accepted; send a smaller one`);
  if (edgeMax !== undefined && Math.max(width, height) > edgeMax)
    throw invalidField(
      param,
      `${is}; this server accepts edges of at most ${edgeMax} pixels; send a smaller one`,
    );
}

/** Note for a model about media of a tool that it does not receive; `reason` where it could perceive them. */
export function withheldNote(modality: Modality, count: number, reason?: string): string {
  const { noun, cannot } = WORDS[modality];
  const were = count === 1 ? `1 ${noun} was` : `${count} ${noun}s were`;
  return `[${were} produced and shown to the user. ${reason ?? cannot}]`;
}
