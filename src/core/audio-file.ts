// Seconds of an audio file by its head and its frames, and its beginning. Nothing is decoded.
// Sources: WAVE: RFC 2361; FLAC: RFC 9639; MPEG audio: ISO 11172-3 2.4.1; Ogg: RFC 3533, RFC 7845, Vorbis I.
// Rejected: music-metadata, which reads tags.

import { has, read } from "./file-bytes.ts";

interface AudioFormat {
  readonly format: string;
  readonly starts: (view: DataView) => boolean;
  readonly seconds?: (view: DataView) => number | undefined;
  /** Samples a second, of what the engine reads. */
  readonly rate?: (view: DataView) => number | undefined;
  /** Whether the engine's decoder does not read it. */
  readonly isForeign?: (view: DataView) => boolean;
}

const always = (): boolean => true;

/** The formats that can be read. Containers of videos may hold nothing but sound, too. */
export const AUDIO_FORMATS: readonly AudioFormat[] = [
  {
    format: "WAV",
    starts: (view) => has(view, 0, "RIFF") && has(view, 8, "WAVE"),
    seconds: wavSeconds,
    rate: (view) => wavForm(view)?.rate,
    isForeign: (view) => !EVEN_SAMPLES.has(read(wavForm, view)?.code ?? PCM),
  },
  { format: "FLAC", starts: (view) => has(view, 0, "fLaC"), seconds: flacSeconds, rate: flacRate },
  {
    format: "MP3",
    starts: (view) => has(view, 0, "ID3") || mp3Frame(view, 0) !== undefined,
    seconds: mp3Seconds,
    rate: mp3Rate,
  },
  {
    format: "Opus",
    isForeign: always,
    starts: (view) => has(view, 0, "OggS") && has(view, 28, "OpusHead"),
    seconds: oggSeconds,
  },
  {
    format: "Vorbis",
    isForeign: always,
    starts: (view) => has(view, 0, "OggS") && has(view, 28, "\x01vorbis"),
    seconds: oggSeconds,
  },
  { format: "M4A", isForeign: always, starts: (view) => has(view, 4, "ftypM4A") || has(view, 4, "ftypM4B") },
  {
    format: "AAC",
    isForeign: always,
    starts: (view) => has(view, 0, "\xff\xf1") || has(view, 0, "\xff\xf9"),
  },
  { format: "AIFF", isForeign: always, starts: (view) => has(view, 0, "FORM") && has(view, 8, "AIF") },
  { format: "AMR", isForeign: always, starts: (view) => has(view, 0, "#!AMR") },
  { format: "CAF", isForeign: always, starts: (view) => has(view, 0, "caff") },
];

/** Formats whose samples all take the same room: integers, floats, A-law, mu-law, and the one that names it elsewhere. */
const PCM = 1;
const EVEN_SAMPLES = new Set([PCM, 3, 6, 7, 0xfffe]);
const NAMED_ELSEWHERE = 0xfffe;

/** How the samples of a WAV file lie in it. */
export interface WavForm {
  /** 1: integers, 3: floats, 6: A-law, 7: mu-law. */
  readonly code: number;
  readonly channels: number;
  readonly rate: number;
  /** Of a sample. */
  readonly bits: number;
  /** Where the samples are, and what the file claims of their bytes. */
  readonly start: number;
  readonly length: number;
}

/** Undefined without a form before the samples. Throws RangeError at an early end. */
export function wavForm(view: DataView): WavForm | undefined {
  let form: Omit<WavForm, "start" | "length"> | undefined;
  for (let at = 12; ;) {
    const length = view.getUint32(at + 4, true);
    const start = at + 8;
    if (has(view, at, "fmt ")) {
      const code = view.getUint16(start, true);
      form = {
        code: code === NAMED_ELSEWHERE && length >= 26 ? view.getUint16(start + 24, true) : code,
        channels: view.getUint16(start + 2, true),
        rate: view.getUint32(start + 4, true),
        bits: view.getUint16(start + 14, true),
      };
    } else if (has(view, at, "data")) return form && { ...form, start, length };
    at = start + length + (length % 2);
  }
}

function wavSeconds(view: DataView): number | undefined {
  const form = wavForm(view);
  if (form === undefined || !EVEN_SAMPLES.has(form.code)) return undefined;
  const bytesPerSecond = (form.rate * form.channels * form.bits) / 8;
  // Decoders make room for what it claims, so a claim that the file does not hold is none.
  const isWhole = bytesPerSecond > 0 && form.length <= view.byteLength - form.start;
  return isWhole ? form.length / bytesPerSecond : undefined;
}

function flacSeconds(view: DataView): number | undefined {
  const head = 8; // STREAMINFO comes first, after the signature and a block header
  if ((view.getUint8(4) & 0x7f) !== 0) return undefined;
  const rate = view.getUint32(head + 10) >>> 12;
  const samples = (view.getUint8(head + 13) & 0x0f) * 2 ** 32 + view.getUint32(head + 14);
  return rate > 0 && samples > 0 ? samples / rate : undefined;
}

function flacRate(view: DataView): number {
  return view.getUint32(18) >>> 12;
}

/** Opus counts at this rate, whatever the sound was recorded with. */
const OPUS_RATE = 48_000;
/** A page has a head of 27 bytes and 255 segments of 255 bytes at most. */
const OGG_PAGE_BYTES_MAX = 27 + 255 * 256;

/** The last page says how many samples come before its end. */
function oggSeconds(view: DataView): number | undefined {
  const isOpus = has(view, 28, "OpusHead");
  const rate = isOpus ? OPUS_RATE : view.getUint32(40, true);
  const skipped = isOpus ? view.getUint16(38, true) : 0;
  const first = Math.max(0, view.byteLength - OGG_PAGE_BYTES_MAX);
  for (let at = view.byteLength - 27; at >= first; at--) {
    if (!has(view, at, "OggS")) continue;
    const seconds = (Number(view.getBigInt64(at + 6, true)) - skipped) / rate;
    return seconds > 0 && Number.isFinite(seconds) ? seconds : undefined;
  }
  return undefined;
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
  readonly rate: number;
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
    rate: samplesPerSecond,
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

/** Of the first frame. */
function mp3Rate(view: DataView): number | undefined {
  for (let at = has(view, 0, "ID3") ? afterId3(view) : 0; at < view.byteLength; at++) {
    const frame = mp3Frame(view, at);
    if (frame !== undefined) return frame.rate;
  }
  return undefined;
}

/** A tag's length has seven bits in each byte; ten bytes of head come before, and of foot after where a flag says so. */
function afterId3(view: DataView): number {
  const bits = [6, 7, 8, 9].map((at) => view.getUint8(at) & 0x7f);
  const length = bits.reduce((sum, seven) => sum * 128 + seven, 0);
  return 10 + length + ((view.getUint8(5) & 0x10) === 0 ? 0 : 10);
}

/** The first seconds of a WAV or an MP3 file, a file of the same format; undefined for others. */
export function beginningOf(
  bytes: Uint8Array<ArrayBuffer>,
  seconds: number,
): Uint8Array<ArrayBuffer> | undefined {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  if (has(view, 0, "RIFF")) return read((whole) => wavBeginning(whole, bytes, seconds), view);
  const isMp3 = has(view, 0, "ID3") || mp3Frame(view, 0) !== undefined;
  return isMp3 ? read((whole) => mp3Beginning(whole, bytes, seconds), view) : undefined;
}

function wavBeginning(
  view: DataView,
  bytes: Uint8Array<ArrayBuffer>,
  seconds: number,
): Uint8Array<ArrayBuffer> {
  const form = wavForm(view);
  if (form === undefined) throw new RangeError("it has no samples");
  const { rate, channels, bits, start, length } = form;
  const kept = Math.min(length, Math.floor(seconds * rate) * ((channels * bits) / 8));
  const file = bytes.slice(0, start + kept);
  const head = new DataView(file.buffer);
  head.setUint32(4, file.byteLength - 8, true);
  head.setUint32(start - 4, kept, true);
  return file;
}

function mp3Beginning(
  view: DataView,
  bytes: Uint8Array<ArrayBuffer>,
  secondsMax: number,
): Uint8Array<ArrayBuffer> {
  const start = has(view, 0, "ID3") ? afterId3(view) : 0;
  let at = start;
  for (let seconds = 0; at < view.byteLength;) {
    const frame = mp3Frame(view, at);
    seconds += frame?.seconds ?? 0;
    if (seconds > secondsMax) break;
    at += frame?.bytes ?? 1;
  }
  return bytes.slice(start, at);
}
