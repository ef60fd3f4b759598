// Formats of images and audio in base64, as upstreams want them named. Pure.

import type { MediaPart } from "../core/message.ts";

/** First characters of a file in base64, by its type. */
const SIGNATURES: readonly (readonly [string, string])[] = [
  ["/9j/", "jpeg"],
  ["iVBOR", "png"],
  ["R0lG", "gif"],
  ["Qk", "bmp"],
  ["ZkxhQ", "flac"],
  ["SUQz", "mp3"],
];

/** An image as a data URL. */
export function imageUrl({ data }: MediaPart): string {
  return `data:image/${formatOf(data) ?? "png"};base64,${data}`;
}

/** Format of audio, by the names of chat completions. */
export function audioFormat({ data }: MediaPart): string {
  return formatOf(data) ?? (data.startsWith("UklGR") ? "wav" : "mp3");
}

function formatOf(data: string): string | undefined {
  return SIGNATURES.find(([start]) => data.startsWith(start))?.[1];
}
