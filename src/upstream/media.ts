// Formats of images and audio in base64, as upstreams want them named. Pure.

import { AUDIO_FORMATS } from "../core/audio-file.ts";
import { IMAGE_FORMATS } from "../core/image-file.ts";
import type { MediaPart } from "../core/message.ts";

/** Characters of base64 that tell a format. */
const HEAD_CHARS = 1024;

/** An image as a data URL. */
export function imageUrl({ data }: MediaPart): string {
  return `data:image/${formatOf(IMAGE_FORMATS, data) ?? "png"};base64,${data}`;
}

/** Format of audio, by the names of chat completions. */
export function audioFormat({ data }: MediaPart): string {
  return formatOf(AUDIO_FORMATS, data) ?? "mp3";
}

function formatOf(formats: typeof AUDIO_FORMATS | typeof IMAGE_FORMATS, data: string): string | undefined {
  const { buffer, byteOffset, byteLength } = Buffer.from(data.slice(0, HEAD_CHARS), "base64");
  const head = new DataView(buffer, byteOffset, byteLength);
  return formats.find(({ starts }) => starts(head))?.format.toLowerCase();
}
