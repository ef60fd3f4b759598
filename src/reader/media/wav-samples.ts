// Samples of a WAV file. Sources: RFC 2361; A-law and mu-law: ITU-T G.711. Rejected: wavefile and node-wav, which need all channels at once.

import { wavForm } from "../../core/audio-file.ts";

type Read = (at: number) => number;

/** Frames that are read at a time. */
const FRAMES = 1 << 16;

/** Gives the samples of a file to a function, piece by piece. False for samples that are packed in another way. */
export function readWav(
  bytes: Uint8Array<ArrayBuffer>,
  secondsMax: number,
  take: (channels: readonly Float32Array[], rate: number) => void,
): boolean {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const form = wavForm(view);
  const sample = form && sampleOf(view, form.code, form.bits);
  if (form === undefined || sample === undefined) return false;
  const { channels, rate, bits, start } = form;
  const frame = (channels * bits) / 8;
  const length = Math.min(form.length, view.byteLength - start);
  const count = Math.min(Math.floor(length / frame), Math.ceil(secondsMax * rate));
  for (let from = 0; from < count; from += FRAMES) {
    const place = (channel: number): number => start + from * frame + (channel * bits) / 8;
    const piece = Array.from({ length: channels }, (_, channel) =>
      Float32Array.from({ length: Math.min(FRAMES, count - from) }, (__, at) =>
        sample(place(channel) + at * frame),
      ),
    );
    take(piece, rate);
  }
  return true;
}

function sampleOf(view: DataView, code: number, bits: number): Read | undefined {
  if (code === 6 && bits === 8) return (at) => aLaw(view.getUint8(at));
  if (code === 7 && bits === 8) return (at) => muLaw(view.getUint8(at));
  if (code === 3 && bits === 32) return (at) => view.getFloat32(at, true);
  if (code === 3 && bits === 64) return (at) => view.getFloat64(at, true);
  return code === 1 ? integerOf(view, bits) : undefined;
}

function integerOf(view: DataView, bits: number): Read | undefined {
  switch (bits) {
    case 8:
      return (at) => (view.getUint8(at) - 128) / 128;
    case 16:
      return (at) => view.getInt16(at, true) / 2 ** 15;
    case 24:
      return (at) => (view.getInt16(at + 1, true) * 256 + view.getUint8(at)) / 2 ** 23;
    case 32:
      return (at) => view.getInt32(at, true) / 2 ** 31;
    default:
      return undefined;
  }
}

function aLaw(byte: number): number {
  const value = byte ^ 0x55;
  const exponent = (value >> 4) & 7;
  const mantissa = ((value & 15) << 4) + 8;
  const size = exponent === 0 ? mantissa : (mantissa + 0x1_00) << (exponent - 1);
  return ((value & 0x80) === 0 ? -size : size) / 2 ** 15;
}

function muLaw(byte: number): number {
  const value = ~byte & 0xff;
  const size = ((((value & 15) << 3) + 0x84) << ((value >> 4) & 7)) - 0x84;
  return ((value & 0x80) === 0 ? size : -size) / 2 ** 15;
}
