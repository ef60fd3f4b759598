// Sounds as samples of one channel at the engine's rate. Runs in a reader process.
// Packages of one family, all MIT and WebAssembly: opus-decoder (libopus), @wasm-audio-decoders/ogg-vorbis (libvorbis),
// @wasm-audio-decoders/flac (libFLAC), mpg123-decoder (mpg123, LGPL-2.1); codec-parser (LGPL-3.0) for Ogg. Rejected: ogg-opus-decoder, which brings
// a neural network of 8 MB; the engine's own decoder for WAV, MP3 and FLAC of other rates, which hears false tones.

import * as flacLibrary from "@wasm-audio-decoders/flac";
import * as vorbisLibrary from "@wasm-audio-decoders/ogg-vorbis"; // whole, as below: it names a class that the bundler would drop
import CodecParser, { type OggPage, type OpusHeader } from "codec-parser";
import * as mpegLibrary from "mpg123-decoder";
import * as opusLibrary from "opus-decoder";
import { SOUND_RATE } from "../../core/limits.ts";
import { mediaFile } from "../../core/media-file.ts";
import type { SoundReply, SoundTask } from "../protocol.ts";
import { folded, resampled } from "./samples.ts";
import { wavSamples } from "./wav-samples.ts";

/** Samples of one channel at a rate. */
interface Sound {
  readonly mono: Float32Array;
  readonly rate: number;
}

/** The beginning of a file, or why it cannot be read. */
export async function readSound({ data, secondsMax }: SoundTask): Promise<SoundReply> {
  try {
    const sound = await decoded(Uint8Array.fromBase64(data), secondsMax);
    if (sound === undefined) return { problem: "damaged" };
    const mono = resampled(sound.mono, sound.rate).subarray(0, Math.floor(secondsMax * SOUND_RATE));
    if (mono.length === 0) return { problem: "damaged" };
    return { samples: packed(mono).toBase64() };
  } catch {
    return { problem: "damaged" };
  }
}

async function decoded(bytes: Uint8Array<ArrayBuffer>, secondsMax: number): Promise<Sound | undefined> {
  switch (mediaFile(bytes)?.format ?? "") {
    case "WAV":
      return wavSamples(bytes, secondsMax);
    case "MP3": {
      const { MPEGDecoder } = { ...mpegLibrary };
      return inPieces(new MPEGDecoder(), bytes, secondsMax);
    }
    case "FLAC": {
      const { FLACDecoder } = { ...flacLibrary };
      return inPieces(new FLACDecoder(), bytes, secondsMax);
    }
    default:
      return ogg(bytes, secondsMax);
  }
}

interface Piece {
  readonly channelData: readonly Float32Array[];
  readonly sampleRate: number;
}

interface PieceDecoder {
  readonly ready: Promise<void>;
  decode(bytes: Uint8Array): Piece | Promise<Piece>;
  flush?(): Promise<Piece>;
}

/** Bytes that a decoder gets at a time, so that its channels never lie there whole. */
const PIECE_BYTES = 256 * 1024;

async function inPieces(decoder: PieceDecoder, bytes: Uint8Array, secondsMax: number): Promise<Sound> {
  await decoder.ready;
  const taken = { mono: new Array<Float32Array>(), count: 0, rate: SOUND_RATE };
  const take = ({ channelData, sampleRate }: Piece): void => {
    if ((channelData[0]?.length ?? 0) === 0) return;
    const piece = folded(channelData).slice(); // the decoder's memory is used again
    taken.mono.push(piece);
    taken.count += piece.length;
    taken.rate = sampleRate;
  };
  const isEnough = (): boolean => taken.count > (secondsMax + 1) * taken.rate;
  for (let at = 0; at < bytes.length && !isEnough(); at += PIECE_BYTES)
    take(await decoder.decode(bytes.subarray(at, at + PIECE_BYTES)));
  if (decoder.flush !== undefined && !isEnough()) take(await decoder.flush());
  return { mono: joined(taken.mono, taken.count), rate: taken.rate };
}

function joined(pieces: readonly Float32Array[], count: number): Float32Array {
  const whole = new Float32Array(count);
  let at = 0;
  for (const piece of pieces) {
    whole.set(piece, at);
    at += piece.length;
  }
  return whole;
}

async function ogg(bytes: Uint8Array<ArrayBuffer>, secondsMax: number): Promise<Sound | undefined> {
  const pages = new CodecParser<OggPage>("application/ogg").parseAll(bytes);
  const first = pages.flatMap(({ codecFrames }) => codecFrames)[0];
  if (first === undefined) return undefined;
  const wanted: OggPage[] = [];
  let seconds = 0;
  for (const page of pages) {
    wanted.push(page);
    seconds += page.codecFrames.reduce((sum, { duration }) => sum + duration, 0) / 1000;
    if (seconds > secondsMax + 1) break; // what a decoder drops at the start
  }
  if (!("preSkip" in first.header)) return vorbis(wanted);
  const { mono, rate } = await opus(wanted, first.header);
  const file = mediaFile(bytes);
  const whole = file?.modality === "audio" ? (file.seconds ?? Infinity) : Infinity;
  const end = Math.round(Math.min(whole, secondsMax + 1) * rate); // the last frame may be cut
  return { mono: mono.subarray(0, end), rate };
}

/** Opus counts at this rate, whatever it decodes to. */
const OPUS_RATE = 48_000;

async function opus(pages: readonly OggPage[], header: OpusHeader): Promise<Sound> {
  const { channels, preSkip, streamCount, coupledStreamCount, channelMappingTable } = header;
  const { OpusDecoder } = { ...opusLibrary };
  const decoder = new OpusDecoder({
    channels,
    preSkip,
    streamCount,
    coupledStreamCount,
    channelMappingTable,
    sampleRate: OPUS_RATE, // at the engine's rate libopus comes in later than it should
  });
  await decoder.ready;
  const frames = pages.flatMap(({ codecFrames }) => codecFrames.map(({ data }) => data));
  return { mono: folded(decoder.decodeFrames(frames).channelData, "Vorbis"), rate: OPUS_RATE };
}

async function vorbis(pages: readonly OggPage[]): Promise<Sound> {
  const { OggVorbisDecoder } = { ...vorbisLibrary };
  const decoder = new OggVorbisDecoder();
  await decoder.ready;
  const { channelData, sampleRate } = await decoder.decodeOggPages([...pages]);
  return { mono: folded(channelData, "Vorbis"), rate: sampleRate };
}

function packed(samples: Float32Array): Uint8Array {
  const bytes = new DataView(new ArrayBuffer(samples.length * 2));
  for (const [index, sample] of samples.entries()) {
    const value = Number.isFinite(sample) ? Math.max(-1, Math.min(1, sample)) : 0;
    bytes.setInt16(index * 2, Math.round(value * 32_767), true);
  }
  return new Uint8Array(bytes.buffer);
}
