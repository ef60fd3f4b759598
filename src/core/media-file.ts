// Format of an image, audio or video file by its signature, and its pixels or seconds. Nothing is decoded, and every byte is looked at once at most, so a hostile file costs no more than a good one.

import { defined } from "./defined.ts";
import type { InputModality } from "./agent.ts";
import { AUDIO_FORMATS } from "./audio-file.ts";
import { has, read } from "./file-bytes.ts";
import { IMAGE_FORMATS, type ImageHead } from "./image-file.ts";

/** A file of a known format. `size` and `seconds` are absent where its head is damaged or does not say. */
export type MediaFile =
  | ({ readonly modality: "image"; readonly format: string } & ImageHead)
  | {
      readonly modality: "audio";
      readonly format: string;
      readonly seconds?: number;
      /** Samples a second; of what the engine reads. */
      readonly rate?: number;
      /** The engine's decoder does not read it. */
      readonly isForeign?: true;
    }
  | { readonly modality: "video"; readonly format: string }
  /** Known by name, but nothing here reads it. */
  | { readonly modality: "none"; readonly format: string };

/** Formats of one kind. */
interface Formats {
  readonly always: readonly string[];
  /** Where the server has it. */
  readonly withFfmpeg: readonly string[];
}

/** Readable formats. */
export const MEDIA_FORMATS: Readonly<Record<InputModality, Formats>> = {
  image: { always: ["PNG", "JPEG", "GIF", "BMP", "WebP", "AVIF", "HEIC", "TIFF"], withFfmpeg: [] },
  audio: {
    always: ["WAV", "MP3", "FLAC", "Ogg (Opus, Vorbis)"],
    withFfmpeg: ["M4A", "AAC", "WebM", "AIFF", "AMR"],
  },
  video: {
    always: ["animated GIF", "animated WebP"],
    withFfmpeg: ["MP4", "QuickTime", "WebM", "Matroska", "AVI", "MPEG", "Ogg", "Flash video"],
  },
};

/** Readable formats, for messages. */
export const FORMATS_READ: Readonly<Record<InputModality, string>> = {
  image: wordsOf("image"),
  audio: wordsOf("audio"),
  video: wordsOf("video"),
};

function wordsOf(modality: InputModality): string {
  const { always, withFfmpeg } = MEDIA_FORMATS[modality];
  return [...always, ...withFfmpeg].join(", ").replace(/, (?=[^,]*$)/, " or ");
}

/** Tells what a file is. Undefined for what is no medium that it knows. */
export function mediaFile(bytes: Uint8Array<ArrayBuffer>): MediaFile | undefined {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const image = IMAGE_FORMATS.find(({ starts }) => starts(view));
  if (image !== undefined) return { modality: "image", format: image.format, ...image.head(view) };
  const audio = AUDIO_FORMATS.find(({ starts }) => starts(view));
  if (audio !== undefined) {
    const isForeign = audio.isForeign?.(view) === true;
    const seconds = audio.seconds && read(audio.seconds, view);
    const rate = seconds === undefined ? undefined : audio.rate && read(audio.rate, view);
    const { format } = audio;
    return { modality: "audio", format, ...defined({ seconds, rate }), ...(isForeign ? { isForeign } : {}) };
  }
  const foreign = FOREIGN.find(({ starts }) => starts(view));
  if (foreign !== undefined) return { modality: "none", format: foreign.format };
  const video = VIDEOS.find(({ starts }) => starts(view));
  return video === undefined ? undefined : { modality: "video", format: video.format };
}

type Starts = (view: DataView) => boolean;

const FOREIGN: readonly { readonly format: string; readonly starts: Starts }[] = [
  { format: "PDF", starts: (view) => has(view, 0, "%PDF-") },
  { format: "JPEG XL", starts: (view) => has(view, 0, "\xff\x0a") || has(view, 4, "JXL ") },
  { format: "JPEG 2000", starts: (view) => has(view, 4, "jP  ") || has(view, 0, "\xff\x4f\xff\x51") },
  { format: "BigTIFF", starts: (view) => has(view, 0, "II+\0") || has(view, 0, "MM\0+") },
  { format: "Photoshop", starts: (view) => has(view, 0, "8BPS") },
  { format: "Windows icon", starts: (view) => has(view, 0, "\0\0\x01\0") },
  { format: "MIDI", starts: (view) => has(view, 0, "MThd") },
  { format: "zip or office", starts: (view) => has(view, 0, "PK\x03\x04") },
  { format: "SVG", starts: isSvg },
];

const SVG_START_BYTES_MAX = 1024;

/** Text whose first element is `svg`, after declarations and comments. */
function isSvg(view: DataView): boolean {
  const head = new Uint8Array(view.buffer, view.byteOffset, Math.min(view.byteLength, SVG_START_BYTES_MAX));
  return (
    /^\s*<(?:svg|\?xml|!DOCTYPE svg|!--)/i.test(new TextDecoder().decode(head)) &&
    /<svg[\s>]/i.test(new TextDecoder().decode(head))
  );
}

/** Containers. Whether they hold video, the decoder finds. */
const VIDEOS: readonly { readonly format: string; readonly starts: Starts }[] = [
  {
    format: "MPEG-4",
    starts: (view) => ["ftyp", "moov", "mdat", "wide", "free"].some((box) => has(view, 4, box)),
  },
  { format: "Matroska or WebM", starts: (view) => has(view, 0, "\x1aE\xdf\xa3") },
  { format: "AVI", starts: (view) => has(view, 0, "RIFF") && has(view, 8, "AVI ") },
  { format: "Ogg", starts: (view) => has(view, 0, "OggS") },
  { format: "MPEG", starts: (view) => has(view, 0, "\0\0\x01\xba") || isTransportStream(view) },
  { format: "Flash video", starts: (view) => has(view, 0, "FLV\x01") },
  { format: "ASF", starts: (view) => has(view, 0, "\x30\x26\xb2\x75\x8e\x66\xcf\x11") },
];

/** Packets of 188 bytes, each with a sync byte. ISO 13818-1. */
function isTransportStream(view: DataView): boolean {
  return [0, 188, 376].every((at) => has(view, at, "G"));
}
