// Pictures and recordings, made byte by byte. PNG, BMP and WAV are whole files; of the others there is as much as says how
// large they are.

import { crc32, deflateSync } from "node:zlib";

function ascii(text: string): Uint8Array {
  return Uint8Array.from(text, (character) => character.codePointAt(0) ?? 0);
}

function bytes(...pieces: readonly (Uint8Array | readonly number[])[]): Uint8Array<ArrayBuffer> {
  return new Uint8Array(pieces.flatMap((piece) => [...piece]));
}

const be16 = (n: number) => [n >>> 8, n & 255];
const be32 = (n: number) => [...be16(n >>> 16), ...be16(n & 0xffff)];
const le16 = (n: number) => be16(n).toReversed();
const le32 = (n: number) => be32(n).toReversed();

function pngChunk(type: string, body: Uint8Array): Uint8Array {
  const inner = bytes(ascii(type), body);
  return bytes(be32(body.byteLength), inner, be32(crc32(inner)));
}

/** A picture of one colour: red, green, blue. */
export function png(width = 4, height = 4, colour: readonly number[] = [255, 0, 0]): Uint8Array<ArrayBuffer> {
  const row = [0, ...Array.from({ length: width }, () => colour).flat()];
  const pixels = bytes(...Array.from({ length: height }, () => row));
  return bytes(pngHead(width, height), pngChunk("IDAT", deflateSync(pixels)), pngChunk("IEND", bytes()));
}

/** What a decoder reads first; it may claim any size. */
export function pngHead(width: number, height: number): Uint8Array<ArrayBuffer> {
  const head = bytes(be32(width), be32(height), [8, 2, 0, 0, 0]);
  return bytes(ascii("\x89PNG\r\n\x1a\n"), pngChunk("IHDR", head));
}

export function gif(width = 3, height = 2): Uint8Array<ArrayBuffer> {
  return bytes(ascii("GIF89a"), le16(width), le16(height), [0, 0, 0], ascii(";"));
}

export function bmp(width = 3, height = 2): Uint8Array<ArrayBuffer> {
  const pixels = new Uint8Array(Math.ceil((width * 3) / 4) * 4 * Math.abs(height));
  const info = [
    40,
    0,
    0,
    0,
    ...le32(width),
    ...le32(height),
    1,
    0,
    24,
    0,
    ...Array.from({ length: 24 }, () => 0),
  ];
  return bytes(ascii("BM"), le32(54 + pixels.byteLength), [0, 0, 0, 0], le32(54), info, pixels);
}

/** Segments of `before` bytes each precede the frame's head. */
export function jpeg(width = 3, height = 2, before: readonly number[] = [16]): Uint8Array<ArrayBuffer> {
  const segments = before.map((length) => bytes([0xff, 0xe1], be16(length), new Uint8Array(length - 2)));
  const frame = bytes([0xff, 0xff, 0xc2], be16(11), [8], be16(height), be16(width), [1, 1, 17, 0]);
  return bytes([0xff, 0xd8], ...segments, frame, [0xff, 0xda]);
}

interface WavOptions {
  readonly rate?: number;
  /** As the head claims it; that of the samples unless given. */
  readonly dataBytes?: number;
  readonly tag?: number;
}

/** Silence, one channel of 16 bits. */
export function wav(
  seconds = 0.5,
  { rate = 16_000, dataBytes, tag = 1 }: WavOptions = {},
): Uint8Array<ArrayBuffer> {
  const samples = new Uint8Array(Math.round(seconds * rate) * 2);
  const format = bytes(le16(tag), le16(1), le32(rate), le32(rate * 2), le16(2), le16(16));
  return bytes(
    ascii("RIFF"),
    le32(36 + samples.byteLength),
    ascii("WAVEfmt "),
    le32(format.byteLength),
    format,
    ascii("LIST"),
    le32(3),
    [1, 2, 3, 0], // padded to an even length
    ascii("data"),
    le32(dataBytes ?? samples.byteLength),
    samples,
  );
}

export function flac(seconds = 2, rate = 16_000): Uint8Array<ArrayBuffer> {
  const samples = seconds * rate;
  const info = bytes(
    new Uint8Array(10),
    be32(((rate << 12) | (15 << 4)) >>> 0).map((byte, index) =>
      index === 3 ? byte | Math.floor(samples / 2 ** 32) : byte,
    ),
    be32(samples % 2 ** 32),
    new Uint8Array(16),
  );
  return bytes(ascii("fLaC"), [0x80, 0, 0, 34], info);
}

/** Frames of version 1, 128 kbit/s, 44.1 kHz. */
export function mp3(frames = 100, tagBytes = 0): Uint8Array<ArrayBuffer> {
  const frame = bytes([0xff, 0xfb, 0x90, 0x00], new Uint8Array(413));
  const tag =
    tagBytes === 0
      ? bytes()
      : bytes(ascii("ID3"), [4, 0, 0, 0, 0, tagBytes >> 7, tagBytes & 127], new Uint8Array(tagBytes));
  return bytes(tag, ...Array.from({ length: frames }, () => frame));
}

export const WEBP: Uint8Array<ArrayBuffer> = bytes(
  ascii("RIFF"),
  le32(20),
  ascii("WEBPVP8 "),
  new Uint8Array(12),
);

/** A little-endian TIFF file with these tags and one strip. `next`: where the directory after it would lie. */
export function tiff(
  tags: Readonly<Record<number, readonly number[]>>,
  strip: Uint8Array,
  next = 0,
): Uint8Array<ArrayBuffer> {
  const all = { ...tags, 273: [0], 279: [strip.length] };
  const entries = Object.entries(all);
  const end = 8 + 2 + entries.length * 12 + 4;
  const values: number[] = [];
  const file = new Uint8Array(
    end + entries.reduce((sum, [, list]) => sum + 4 * list.length, 0) + strip.length,
  );
  const view = new DataView(file.buffer);
  file.set(ascii("II*\0"));
  view.setUint32(4, 8, true);
  view.setUint16(8, entries.length, true);
  for (const [index, [tag, list]] of entries.entries()) {
    const at = 10 + index * 12;
    view.setUint16(at, Number(tag), true);
    view.setUint16(at + 2, 4, true);
    view.setUint32(at + 4, list.length, true);
    view.setUint32(at + 8, list.length === 1 ? (list[0] ?? 0) : end + 4 * values.length, true);
    if (Number(tag) === 273) view.setUint32(at + 8, file.length - strip.length, true);
    else if (list.length > 1) values.push(...list);
  }
  view.setUint32(end - 4, next, true);
  for (const [index, value] of values.entries()) view.setUint32(end + 4 * index, value, true);
  file.set(strip, file.length - strip.length);
  return file;
}
