// MIME types of images, audio and videos that can be sent to models. Pure.

import type { Attachment } from "./conversation.ts";
import type { InputModality } from "./model-card.ts";

interface MediaType {
  readonly modality: InputModality;
  /** Format name in requests. */
  readonly format: string;
  /** The server converts it; where the browser can, the page does. */
  readonly isForeign?: true;
  /** Most browsers do not show it. */
  readonly isHidden?: true;
}

const foreign = (modality: InputModality, format: string): MediaType => ({
  modality,
  format,
  isForeign: true,
});
const hidden = (format: string): MediaType => ({ ...foreign("image", format), isHidden: true });

/** Types that svc reads. */
const SUPPORTED: ReadonlyMap<string, MediaType> = new Map([
  ["image/png", { modality: "image", format: "png" }],
  ["image/jpeg", { modality: "image", format: "jpeg" }],
  ["image/gif", { modality: "image", format: "gif" }],
  ["image/bmp", { modality: "image", format: "bmp" }],
  ["image/webp", foreign("image", "webp")],
  ["image/avif", foreign("image", "avif")],
  ["image/heic", hidden("heic")],
  ["image/tiff", hidden("tiff")],
  ["audio/wav", { modality: "audio", format: "wav" }],
  ["audio/mpeg", { modality: "audio", format: "mp3" }],
  ["audio/flac", { modality: "audio", format: "flac" }],
  ["audio/ogg", foreign("audio", "ogg")],
  ["audio/mp4", foreign("audio", "m4a")],
  ["audio/aac", foreign("audio", "aac")],
  ["audio/webm", foreign("audio", "webm")],
  ["audio/aiff", foreign("audio", "aiff")],
  ["audio/amr", foreign("audio", "amr")],
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
  ["image/heif", "image/heic"],
  ["audio/opus", "audio/ogg"],
  ["audio/x-m4a", "audio/mp4"],
  ["audio/x-aiff", "audio/aiff"],
]);

/** Types by the endings of files to which some systems give none. */
const ENDINGS: ReadonlyMap<string, string> = new Map([
  ["heic", "image/heic"],
  ["heif", "image/heic"],
  ["avif", "image/avif"],
  ["webp", "image/webp"],
  ["tif", "image/tiff"],
  ["tiff", "image/tiff"],
  ["flac", "audio/flac"],
  ["opus", "audio/ogg"],
  ["m4a", "audio/mp4"],
  ["amr", "audio/amr"],
  ["mkv", "video/x-matroska"],
]);

/** The type of a file, without parameters. */
export function mimeOfFile({ name, type }: Pick<File, "name" | "type">): string {
  const ending = name.slice(name.lastIndexOf(".") + 1).toLowerCase();
  const [mime = ""] = type.split(";", 1);
  return mime === "" ? (ENDINGS.get(ending) ?? "application/octet-stream") : mime;
}

/** What a browser can show or play of a file; undefined for others. */
export function shownAs(file: Pick<Attachment, "mime">): InputModality | undefined {
  const type = mediaTypeOf(file);
  return type?.isHidden === true ? undefined : type?.modality;
}

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
