// Which files are pictures and recordings that models can be shown. Pure.

import type { Attachment } from "./conversation.ts";
import type { Modality } from "./model-card.ts";

interface MediaType {
  readonly modality: Modality;
  /** As requests name it. */
  readonly format: string;
}

/** What servers read. */
const READ: ReadonlyMap<string, MediaType> = new Map([
  ["image/png", { modality: "image", format: "png" }],
  ["image/jpeg", { modality: "image", format: "jpeg" }],
  ["image/gif", { modality: "image", format: "gif" }],
  ["image/bmp", { modality: "image", format: "bmp" }],
  ["audio/wav", { modality: "audio", format: "wav" }],
  ["audio/mpeg", { modality: "audio", format: "mp3" }],
  ["audio/flac", { modality: "audio", format: "flac" }],
]);

/** Other names of them. */
const ALIASES: ReadonlyMap<string, string> = new Map([
  ["image/jpg", "image/jpeg"],
  ["audio/x-wav", "audio/wav"],
  ["audio/wave", "audio/wav"],
  ["audio/vnd.wave", "audio/wav"],
  ["audio/mp3", "audio/mpeg"],
  ["audio/x-flac", "audio/flac"],
]);

/** What a model would have to take to be shown a file; undefined for other files. */
export function mediaTypeOf({ mime }: Pick<Attachment, "mime">): MediaType | undefined {
  return READ.get(ALIASES.get(mime) ?? mime);
}

/** How files of these types begin, as base64. */
const BEGINNINGS = [
  ["iVBORw0KGgo", "image/png"],
  ["/9j/", "image/jpeg"],
  ["R0lGOD", "image/gif"],
  ["Qk", "image/bmp"],
  ["UklGR", "audio/wav"],
  ["ZkxhQ", "audio/flac"],
  ["SUQz", "audio/mpeg"],
  ["//", "audio/mpeg"],
] as const;

/** The type of a file by how it begins; undefined for what is none of them. */
export function mimeOfBase64(data: string): string | undefined {
  return BEGINNINGS.find(([beginning]) => data.startsWith(beginning))?.[1];
}
