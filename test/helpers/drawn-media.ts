// Files of pictures and recordings, made for tests.

import { crc32, deflateSync } from "node:zlib";
import type { MediaPart } from "../../src/core/message.ts";

/** Red, green and blue of a pixel, 0 … 255. */
type Paint = (x: number, y: number) => readonly [number, number, number];

function pngChunk(type: string, data: Uint8Array): Buffer {
  const body = Buffer.concat([Buffer.from(type), data]);
  const frame = Buffer.alloc(8);
  frame.writeUInt32BE(data.length);
  frame.writeUInt32BE(crc32(body), 4);
  return Buffer.concat([frame.subarray(0, 4), body, frame.subarray(4)]);
}

/** A PNG whose head promises this size, with the given compressed rows. */
export function pngWith(width: number, height: number, rows: Uint8Array): Buffer {
  const head = Buffer.alloc(13);
  head.writeUInt32BE(width);
  head.writeUInt32BE(height, 4);
  head.set([8, 2], 8); // 8 bits, red green blue
  const magic = Buffer.from("89504e470d0a1a0a", "hex");
  return Buffer.concat([
    magic,
    pngChunk("IHDR", head),
    pngChunk("IDAT", rows),
    pngChunk("IEND", new Uint8Array()),
  ]);
}

/** A picture as PNG. */
export function png(width: number, height: number, paint: Paint): Buffer {
  const rows = Buffer.alloc(height * (1 + width * 3));
  for (let y = 0; y < height; y++)
    for (let x = 0; x < width; x++) rows.set(paint(x, y), y * (1 + width * 3) + 1 + x * 3);
  return pngWith(width, height, deflateSync(rows));
}

/** A picture in one colour. */
export function plain(red: number, green: number, blue: number, width = 48, height = 40): Buffer {
  return png(width, height, () => [red, green, blue]);
}

/** A picture with fields in black and white. */
export function checkered(size = 8, width = 48, height = 40): Buffer {
  const field = (v: number): number => Math.floor(v / size);
  return png(width, height, (x, y) => ((field(x) + field(y)) % 2 === 0 ? [0, 0, 0] : [255, 255, 255]));
}

/** A 16-bit mono WAV file. `sample` gives values between -1 and 1. */
export function wav(seconds: number, sample: (second: number) => number, rate = 16_000): Buffer {
  const count = Math.round(seconds * rate);
  const file = Buffer.alloc(44 + count * 2);
  file.write("RIFF", 0);
  file.writeUInt32LE(36 + count * 2, 4);
  file.write("WAVEfmt ", 8);
  file.writeUInt32LE(16, 16);
  file.writeUInt16LE(1, 20); // samples as they are
  file.writeUInt16LE(1, 22);
  file.writeUInt32LE(rate, 24);
  file.writeUInt32LE(rate * 2, 28);
  file.writeUInt16LE(2, 32);
  file.writeUInt16LE(16, 34);
  file.write("data", 36);
  file.writeUInt32LE(count * 2, 40);
  for (let i = 0; i < count; i++) file.writeInt16LE(Math.round(32_767 * sample(i / rate)), 44 + i * 2);
  return file;
}

/** A tone. */
export function tone(hertz: number, seconds = 1): Buffer {
  return wav(seconds, (second) => 0.5 * Math.sin(2 * Math.PI * hertz * second));
}

/** The file as part of a message. */
export function imagePart(file: Uint8Array): MediaPart {
  return { type: "image", data: Buffer.from(file).toString("base64") };
}

export function audioPart(file: Uint8Array): MediaPart {
  return { type: "audio", data: Buffer.from(file).toString("base64") };
}
