// MIME types of images, audio and videos that can be sent to models. Pure.

import type { Attachment } from "./conversation.ts";
import type { InputModality } from "./model-card.ts";

interface MediaType {
  readonly modality: InputModality;
  /** Format name in requests. */
  readonly format: string;
}

/** Types that svc can decode. */
const SUPPORTED: ReadonlyMap<string, MediaType> = new Map([
  ["image/png", { modality: "image", format: "png" }],
  ["image/jpeg", { modality: "image", format: "jpeg" }],
  ["image/gif", { modality: "image", format: "gif" }],
  ["image/bmp", { modality: "image", format: "bmp" }],
  ["audio/wav", { modality: "audio", format: "wav" }],
  ["audio/mpeg", { modality: "audio", format: "mp3" }],
  ["audio/flac", { modality: "audio", format: "flac" }],
  ["video/mp4", { modality: "video", format: "mp4" }],
  ["video/quicktime", { modality: "video", format: "mov" }],
  ["video/webm", { modality: "video", format: "webm" }],
  ["video/x-matroska", { modality: "video", format: "mkv" }],
  ["video/x-msvideo", { modality: "video", format: "avi" }],
  ["video/mpeg", { modality: "video", format: "mpeg" }],
]);

/** Other names of these types. */
const ALIASES: ReadonlyMap<string, string> = new Map([
  ["image/jpg", "image/jpeg"],
  ["audio/x-wav", "audio/wav"],
  ["audio/wave", "audio/wav"],
  ["audio/vnd.wave", "audio/wav"],
  ["audio/mp3", "audio/mpeg"],
  ["audio/x-flac", "audio/flac"],
]);

/** Media type of a file; undefined for others. */
export function mediaTypeOf({ mime }: Pick<Attachment, "mime">): MediaType | undefined {
  return SUPPORTED.get(ALIASES.get(mime) ?? mime);
}

/** First characters of files of these types, in base64. */
const SIGNATURES = [
  ["iVBORw0KGgo", "image/png"],
  ["/9j/", "image/jpeg"],
  ["R0lGOD", "image/gif"],
  ["Qk", "image/bmp"],
  ["UklGR", "audio/wav"],
  ["ZkxhQ", "audio/flac"],
  ["SUQz", "audio/mpeg"],
  ["//", "audio/mpeg"],
] as const;

/** MIME type by file signature; undefined if unknown. */
export function mimeOfBase64(data: string): string | undefined {
  return SIGNATURES.find(([signature]) => data.startsWith(signature))?.[1];
}
