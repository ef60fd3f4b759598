// Ogg files with Opus or Vorbis as samples of one channel. Runs in a reader process.
// Packages: opus-decoder (libopus) and @wasm-audio-decoders/ogg-vorbis (libvorbis), both MIT and WebAssembly; codec-parser (LGPL-3.0) for
// the container. Rejected: ogg-opus-decoder, which brings a neural network of 8 MB.

import * as vorbisLibrary from "@wasm-audio-decoders/ogg-vorbis"; // whole, as below: it names a class that the bundler would drop
import CodecParser, { type OggPage, type OpusHeader } from "codec-parser";
import * as opusLibrary from "opus-decoder";
import { SOUND_RATE } from "../../core/limits.ts";
import type { SoundReply, SoundTask } from "../protocol.ts";

/** Samples of a channel each, at a rate. */
interface Sound {
  readonly channels: readonly Float32Array[];
  readonly rate: number;
}

/** The beginning of a file, or why it cannot be read. */
export async function readSound({ data, secondsMax }: SoundTask): Promise<SoundReply> {
  try {
    const pages = pagesOf(Uint8Array.fromBase64(data));
    const sound = await decoded(pages, secondsMax);
    if (sound === undefined) return { problem: "damaged" };
    const mono = resampled(folded(sound.channels), sound.rate).subarray(
      0,
      Math.floor(secondsMax * SOUND_RATE),
    );
    if (mono.length === 0) return { problem: "damaged" };
    return { samples: packed(mono).toBase64() };
  } catch {
    return { problem: "damaged" };
  }
}

function pagesOf(bytes: Uint8Array): readonly OggPage[] {
  return new CodecParser<OggPage>("application/ogg").parseAll(bytes);
}

async function decoded(pages: readonly OggPage[], secondsMax: number): Promise<Sound | undefined> {
  const frames = pages.flatMap(({ codecFrames }) => codecFrames);
  const [first] = frames;
  if (first === undefined) return undefined;
  const wanted: OggPage[] = [];
  let seconds = 0;
  for (const page of pages) {
    wanted.push(page);
    seconds += page.codecFrames.reduce((sum, { duration }) => sum + duration, 0) / 1000;
    if (seconds > secondsMax + 1) break; // what a decoder drops at the start
  }
  return "preSkip" in first.header ? opus(wanted, first.header) : vorbis(wanted);
}

async function opus(pages: readonly OggPage[], header: OpusHeader): Promise<Sound> {
  const { channels, preSkip, streamCount, coupledStreamCount, channelMappingTable } = header;
  const { OpusDecoder } = { ...opusLibrary };
  const decoder = new OpusDecoder({
    channels,
    preSkip,
    streamCount,
    coupledStreamCount,
    channelMappingTable,
    sampleRate: SOUND_RATE,
  });
  await decoder.ready;
  const frames = pages.flatMap(({ codecFrames }) => codecFrames.map(({ data }) => data));
  return { channels: decoder.decodeFrames(frames).channelData, rate: SOUND_RATE };
}

async function vorbis(pages: readonly OggPage[]): Promise<Sound> {
  const { OggVorbisDecoder } = { ...vorbisLibrary };
  const decoder = new OggVorbisDecoder();
  await decoder.ready;
  const { channelData, sampleRate } = await decoder.decodeOggPages([...pages]);
  return { channels: channelData, rate: sampleRate };
}

/** The mean of the channels. */
function folded(channels: readonly Float32Array[]): Float32Array {
  const [first = new Float32Array(), ...others] = channels;
  if (others.length === 0) return first;
  return first.map(
    (sample, at) => others.reduce((sum, channel) => sum + (channel[at] ?? 0), sample) / channels.length,
  );
}

/** Zero crossings of the filter on each side of its middle. */
const CROSSINGS = 16;

/** At SOUND_RATE, by a windowed sinc that leaves out what that rate cannot hold. */
function resampled(samples: Float32Array, rate: number): Float32Array {
  if (rate === SOUND_RATE) return samples;
  const step = rate / SOUND_RATE;
  const scale = Math.min(1, 1 / step);
  const reach = CROSSINGS / scale;
  const out = new Float32Array(Math.floor(samples.length / step));
  for (let index = 0; index < out.length; index++) {
    const middle = index * step;
    let sum = 0;
    for (let at = Math.ceil(middle - reach); at <= middle + reach; at++) {
      const distance = (at - middle) * scale;
      const window = 0.5 + 0.5 * Math.cos((Math.PI * distance) / CROSSINGS);
      const sinc = distance === 0 ? 1 : Math.sin(Math.PI * distance) / (Math.PI * distance);
      sum += (samples[at] ?? 0) * sinc * window;
    }
    out[index] = sum * scale;
  }
  return out;
}

function packed(samples: Float32Array): Uint8Array {
  const bytes = new DataView(new ArrayBuffer(samples.length * 2));
  for (const [index, sample] of samples.entries()) {
    const value = Number.isFinite(sample) ? Math.max(-1, Math.min(1, sample)) : 0;
    bytes.setInt16(index * 2, Math.round(value * 32_767), true);
  }
  return new Uint8Array(bytes.buffer);
}
