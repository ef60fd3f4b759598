// Sounds as samples of one channel at the engine's rate. Runs in a reader process.
// Packages of one family, all MIT and WebAssembly: opus-decoder (libopus), @wasm-audio-decoders/ogg-vorbis (libvorbis),
// @wasm-audio-decoders/flac (libFLAC), mpg123-decoder (mpg123, LGPL-2.1); codec-parser (LGPL-3.0) for Ogg. Rejected: ogg-opus-decoder, which brings
// a neural network of 8 MB; the engine's own decoder for WAV, MP3 and FLAC of other rates, which hears false tones.

import * as flacLibrary from "@wasm-audio-decoders/flac";
import * as vorbisLibrary from "@wasm-audio-decoders/ogg-vorbis"; // whole, as below: it names a class that the bundler would drop
import CodecParser, { type OggPage, type OpusHeader } from "codec-parser";
import * as mpegLibrary from "mpg123-decoder";
import * as opusLibrary from "opus-decoder";
import { RESAMPLED_RATE_MAX } from "../../core/limits.ts";
import { mediaFile } from "../../core/media-file.ts";
import type { SoundReply, SoundTask } from "../protocol.ts";
import { folded, Resampler } from "./samples.ts";
import { readWav } from "./wav-samples.ts";

/** The beginning of a file, or why it cannot be read. */
export async function readSound({ data, secondsMax }: SoundTask): Promise<SoundReply> {
  try {
    const sound = new Sound(secondsMax);
    await decode(Uint8Array.fromBase64(data), sound);
    const samples = sound.end();
    if (samples.length === 0) return { problem: "damaged" };
    return { samples: new Uint8Array(samples.buffer).toBase64() };
  } catch {
    return { problem: "damaged" };
  }
}

/** What is decoded of a file: one channel at the engine's rate. */
class Sound {
  readonly secondsMax: number;
  private resampler: Resampler | undefined;

  constructor(secondsMax: number) {
    this.secondsMax = secondsMax;
  }

  /** `order`: that of the format's speakers. */
  take(channels: readonly Float32Array[], rate: number, order?: "Vorbis"): void {
    if ((channels[0]?.length ?? 0) === 0) return;
    if (!(rate > 0 && rate <= RESAMPLED_RATE_MAX)) throw new RangeError("its filter would fill the memory");
    this.resampler ??= new Resampler(rate);
    this.resampler.push(folded(channels, order));
  }

  /** More would be cut. */
  get isEnough(): boolean {
    return (this.resampler?.seconds ?? 0) > this.secondsMax + 1;
  }

  end(): Int16Array {
    return this.resampler?.end(this.secondsMax) ?? new Int16Array();
  }
}

async function decode(bytes: Uint8Array<ArrayBuffer>, sound: Sound): Promise<void> {
  switch (mediaFile(bytes)?.format ?? "") {
    case "WAV":
      readWav(bytes, sound.secondsMax, (channels, rate) => sound.take(channels, rate));
      return;
    case "MP3": {
      const { MPEGDecoder } = { ...mpegLibrary };
      return inPieces(new MPEGDecoder(), bytes, sound);
    }
    case "FLAC": {
      const { FLACDecoder } = { ...flacLibrary };
      return inPieces(new FLACDecoder(), bytes, sound);
    }
    default:
      return ogg(bytes, sound);
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
const PIECE_BYTES = 64 * 1024;

async function inPieces(decoder: PieceDecoder, bytes: Uint8Array, sound: Sound): Promise<void> {
  await decoder.ready;
  const take = ({ channelData, sampleRate }: Piece): void => sound.take(channelData, sampleRate);
  for (let at = 0; at < bytes.length && !sound.isEnough; at += PIECE_BYTES)
    take(await decoder.decode(bytes.subarray(at, at + PIECE_BYTES)));
  if (decoder.flush !== undefined && !sound.isEnough) take(await decoder.flush());
}

/** Pages that a decoder gets at a time: about as many seconds. */
const PAGES = 16;

async function ogg(bytes: Uint8Array<ArrayBuffer>, sound: Sound): Promise<void> {
  let taker: ((pages: readonly OggPage[]) => Promise<void>) | undefined;
  let pages: OggPage[] = [];
  const take = async (): Promise<void> => {
    const header = pages.flatMap(({ codecFrames }) => codecFrames)[0]?.header;
    if (taker === undefined && header === undefined) return;
    taker ??=
      header !== undefined && "preSkip" in header ? await opus(header, bytes, sound) : await vorbis(sound);
    await taker(pages);
    pages = [];
  };
  for (const page of pagesOf(bytes)) {
    pages.push(page);
    if (pages.length >= PAGES) await take();
    if (sound.isEnough) return;
  }
  await take();
}

function* pagesOf(bytes: Uint8Array): Generator<OggPage> {
  const parser = new CodecParser<OggPage>("application/ogg");
  const all = (pages: Iterator<OggPage>): Iterable<OggPage> => ({ [Symbol.iterator]: () => pages });
  // Without a first chunk it never ends.
  for (let at = 0; at === 0 || at < bytes.length; at += PIECE_BYTES)
    yield* all(parser.parseChunk(bytes.subarray(at, at + PIECE_BYTES)));
  yield* all(parser.flush());
}

/** Opus counts at this rate, whatever it decodes to. */
const OPUS_RATE = 48_000;

async function opus(
  header: OpusHeader,
  bytes: Uint8Array<ArrayBuffer>,
  sound: Sound,
): Promise<(pages: readonly OggPage[]) => Promise<void>> {
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
  const file = mediaFile(bytes);
  const seconds = file?.modality === "audio" ? (file.seconds ?? Infinity) : Infinity;
  let left = Math.round(seconds * OPUS_RATE); // the last frame may be cut
  return async (pages) => {
    const frames = pages.flatMap(({ codecFrames }) => codecFrames.map(({ data }) => data));
    const { channelData } = decoder.decodeFrames(frames);
    sound.take(
      channelData.map((channel) => channel.subarray(0, left)),
      OPUS_RATE,
      "Vorbis",
    );
    left = Math.max(0, left - (channelData[0]?.length ?? 0));
  };
}

async function vorbis(sound: Sound): Promise<(pages: readonly OggPage[]) => Promise<void>> {
  const { OggVorbisDecoder } = { ...vorbisLibrary };
  const decoder = new OggVorbisDecoder();
  await decoder.ready;
  return async (pages) => {
    const { channelData, sampleRate } = await decoder.decodeOggPages([...pages]);
    sound.take(channelData, sampleRate, "Vorbis");
  };
}
