// Format of an image, audio or video file by its signature, and its pixels or seconds. Nothing is decoded, and every byte is looked at once at most, so a hostile file costs no more than a good one.
// Sources: the formats' own documents (WAVE: RFC 2361; FLAC: RFC 9639; MPEG audio: ISO 11172-3 2.4.1).
// Rejected: music-metadata, which reads tags.

import { defined } from "./defined.ts";
import type { InputModality } from "./agent.ts";
import { has, read } from "./file-bytes.ts";
import { type ImageSize, IMAGE_FORMATS } from "./image-file.ts";

/** A file of a known format. `size` and `seconds` are absent where its head is damaged or does not say. */
export type MediaFile =
  | {
      readonly modality: "image";
      readonly format: string;
      readonly size?: ImageSize;
      readonly orientation?: number;
      readonly isAnimated?: true;
      readonly isForeign?: true;
    }
  | { readonly modality: "audio"; readonly format: string; readonly seconds?: number }
  | { readonly modality: "video"; readonly format: string }
  /** Known by name, but nothing here reads it. */
  | { readonly modality: "none"; readonly format: string };

/** Readable formats, for messages. */
export const FORMATS_READ: Readonly<Record<InputModality, string>> = {
  image: "PNG, JPEG, GIF, BMP, WebP, AVIF, HEIC or TIFF",
  audio: "WAV, MP3 or FLAC",
  video: "MP4, QuickTime, WebM, Matroska, AVI, MPEG, Ogg, Flash video, or an animated GIF or WebP",
};

/** Tells what a file is. Undefined for what is no medium that it knows. */
export function mediaFile(bytes: Uint8Array<ArrayBuffer>): MediaFile | undefined {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const image = IMAGE_FORMATS.find(({ starts }) => starts(view));
  if (image !== undefined) return { modality: "image", format: image.format, ...image.head(view) };
  const audio = AUDIO_FORMATS.find(({ starts }) => starts(view));
  if (audio !== undefined) {
    const seconds = read(audio.seconds, view);
    return { modality: "audio", format: audio.format, ...defined({ seconds }) };
  }
  const foreign = FOREIGN.find(({ starts }) => starts(view));
  if (foreign !== undefined) return { modality: "none", format: foreign.format };
  const video = VIDEOS.find(({ starts }) => starts(view));
  return video === undefined ? undefined : { modality: "video", format: video.format };
}

type Starts = (view: DataView) => boolean;

const AUDIO_FORMATS: readonly {
  readonly format: string;
  readonly starts: Starts;
  readonly seconds: (view: DataView) => number | undefined;
}[] = [
  { format: "WAV", starts: (view) => has(view, 0, "RIFF") && has(view, 8, "WAVE"), seconds: wavSeconds },
  { format: "FLAC", starts: (view) => has(view, 0, "fLaC"), seconds: flacSeconds },
  {
    format: "MP3",
    starts: (view) => has(view, 0, "ID3") || mp3Frame(view, 0) !== undefined,
    seconds: mp3Seconds,
  },
];

const FOREIGN: readonly { readonly format: string; readonly starts: Starts }[] = [
  { format: "PDF", starts: (view) => has(view, 0, "%PDF-") },
];

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

/** Formats whose samples all take the same room: integers, floats, A-law, mu-law, and the one that names it elsewhere. */
const EVEN_SAMPLES = new Set([1, 3, 6, 7, 0xfffe]);

function wavSeconds(view: DataView): number | undefined {
  let bytesPerSecond = 0;
  for (let at = 12; ;) {
    const length = view.getUint32(at + 4, true);
    const body = at + 8;
    if (has(view, at, "fmt ")) {
      if (!EVEN_SAMPLES.has(view.getUint16(body, true))) return undefined;
      const bits = view.getUint16(body + 2, true) * view.getUint16(body + 14, true); // channels × bits of a sample
      bytesPerSecond = (view.getUint32(body + 4, true) * bits) / 8;
    } else if (has(view, at, "data")) {
      // Decoders make room for what it claims, so a claim that the file does not hold is none.
      const isWhole = bytesPerSecond > 0 && length <= view.byteLength - body;
      return isWhole ? length / bytesPerSecond : undefined;
    }
    at = body + length + (length % 2);
  }
}

function flacSeconds(view: DataView): number | undefined {
  const head = 8; // STREAMINFO comes first, after the signature and a block header
  if ((view.getUint8(4) & 0x7f) !== 0) return undefined;
  const rate = view.getUint32(head + 10) >>> 12;
  const samples = (view.getUint8(head + 13) & 0x0f) * 2 ** 32 + view.getUint32(head + 14);
  return rate > 0 && samples > 0 ? samples / rate : undefined;
}

/** Bits a second of a Layer III frame, thousands, by version and index 1 … 14. */
const MP3_KBITS = {
  first: [32, 40, 48, 56, 64, 80, 96, 112, 128, 160, 192, 224, 256, 320],
  later: [8, 16, 24, 32, 40, 48, 56, 64, 80, 96, 112, 128, 144, 160],
};
/** Samples a second of version 1; version 2 has half of it, 2.5 a quarter. */
const MP3_RATES = [44_100, 48_000, 32_000];
const VERSION_DIVISORS: Readonly<Record<number, number>> = { 3: 1, 2: 2, 0: 4 };
const LAYER_III = 1;

interface Mp3Frame {
  readonly bytes: number;
  readonly seconds: number;
}

function mp3Frame(view: DataView, at: number): Mp3Frame | undefined {
  if (at + 4 > view.byteLength || view.getUint8(at) !== 0xff) return undefined;
  const second = view.getUint8(at + 1);
  const third = view.getUint8(at + 2);
  if (second >> 5 !== 7 || ((second >> 1) & 3) !== LAYER_III) return undefined;
  const divisor = VERSION_DIVISORS[(second >> 3) & 3];
  const rate = MP3_RATES[(third >> 2) & 3];
  if (divisor === undefined || rate === undefined) return undefined;
  const kbits = MP3_KBITS[divisor === 1 ? "first" : "later"][(third >> 4) - 1];
  if (kbits === undefined) return undefined;
  const samples = divisor === 1 ? 1152 : 576;
  const samplesPerSecond = rate / divisor;
  const padding = (third >> 1) & 1;
  return {
    bytes: Math.floor((samples / 8) * ((kbits * 1000) / samplesPerSecond)) + padding,
    seconds: samples / samplesPerSecond,
  };
}

/** Share of a file, without the tag at its head, that need not be frames. What is none cannot be counted. */
const NO_FRAMES_SHARE_MAX = 0.25;

/** Frame by frame, since nothing at the head of the file says how many there are. */
function mp3Seconds(view: DataView): number | undefined {
  const start = has(view, 0, "ID3") ? afterId3(view) : 0;
  const strayMax = (view.byteLength - start) * NO_FRAMES_SHARE_MAX;
  let seconds = 0;
  let stray = 0;
  for (let at = start; at < view.byteLength;) {
    const frame = mp3Frame(view, at);
    if (frame === undefined && ++stray > strayMax) return undefined;
    seconds += frame?.seconds ?? 0;
    at += frame?.bytes ?? 1;
  }
  return seconds > 0 ? seconds : undefined;
}

/** A tag's length has seven bits in each byte; ten bytes of head come before, and of foot after where a flag says so. */
function afterId3(view: DataView): number {
  const bits = [6, 7, 8, 9].map((at) => view.getUint8(at) & 0x7f);
  const length = bits.reduce((sum, seven) => sum * 128 + seven, 0);
  return 10 + length + ((view.getUint8(5) & 0x10) === 0 ? 0 : 10);
}
