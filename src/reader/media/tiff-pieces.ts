// Unpacks strips and tiles of TIFF files, each no further than it is large. utif2's decoder of LZW follows a circle in its table for
// ever, its others write what the file claims. Source: TIFF 6.0, sections 9 and 13. Rejected: geotiff and tiff, which do not give theirs away.

import { inflateSync } from "node:zlib";
import { ImageProblem } from "./raster.ts";
import type { TiffPage } from "./tiff-page.ts";

/** Fills a piece from its packed bytes; says how much of it. */
type Unpack = (packed: Uint8Array, into: Uint8Array) => number;

const UNPACK: Readonly<Record<number, Unpack>> = {
  1: plain,
  5: lzw,
  8: deflated,
  32946: deflated,
  32773: packBits,
};

/** All pieces one after the other; undefined for a compression that is none of these. */
export function unpacked(file: Uint8Array, { compression, pieces }: TiffPage): Uint8Array | undefined {
  const unpack = UNPACK[compression];
  if (unpack === undefined) return undefined;
  const all = new Uint8Array(pieces.reduce((sum, { bytes }) => sum + bytes, 0));
  let at = 0;
  for (const { start, end, bytes } of pieces) {
    const filled = unpack(file.subarray(start, end), all.subarray(at, at + bytes));
    if (filled < bytes) throw new ImageProblem("damaged");
    at += bytes;
  }
  return all;
}

function plain(packed: Uint8Array, into: Uint8Array): number {
  into.set(packed.subarray(0, into.length));
  return packed.length;
}

/** Bytes of a piece that are one too many. */
const SPARE = 64 * 1024;

function deflated(packed: Uint8Array, into: Uint8Array): number {
  try {
    return plain(inflateSync(packed, { maxOutputLength: into.length + SPARE }), into);
  } catch {
    throw new ImageProblem("damaged");
  }
}

function packBits(packed: Uint8Array, into: Uint8Array): number {
  let to = 0;
  for (let at = 0; at + 1 < packed.length && to < into.length;) {
    const head = packed[at++] ?? 0;
    if (head < 128) {
      const bytes = packed.subarray(at, at + Math.min(head + 1, into.length - to));
      into.set(bytes, to);
      to += bytes.length;
      at += head + 1;
    } else if (head > 128) {
      const end = Math.min(into.length, to + 257 - head);
      into.fill(packed[at++] ?? 0, to, end);
      to = end;
    }
  }
  return to;
}

const CLEAR = 256;
const END = 257;
const CODES_MAX = 4096;
const WIDTH_MAX = 12;

/** A code stands for bytes that were written before: those of the code before it and one more. */
function lzw(packed: Uint8Array, into: Uint8Array): number {
  const starts = new Uint32Array(CODES_MAX);
  const lengths = new Uint32Array(CODES_MAX);
  let [next, width, to] = [END + 1, 9, 0];
  let before = { start: 0, length: 0 };
  for (let bit = 0; bit + width <= packed.length * 8 && to < into.length;) {
    const code = bitsAt(packed, bit, width);
    bit += width;
    if (code === END) break;
    if (code === CLEAR) {
      [next, width] = [END + 1, 9];
      before = { start: 0, length: 0 };
      continue;
    }
    if (before.length > 0 && next < CODES_MAX) {
      starts[next] = before.start;
      lengths[next++] = before.length + 1;
      if (next === (1 << width) - 1 && width < WIDTH_MAX) width++;
    }
    if (code >= next) throw new ImageProblem("damaged");
    const start = to;
    if (code < CLEAR) into[to++] = code;
    else {
      const from = starts[code] ?? 0;
      const end = Math.min(into.length, to + (lengths[code] ?? 0));
      while (to < end) into[to] = into[from + to++ - start] ?? 0; // it may repeat what it writes
    }
    before = { start, length: to - start };
  }
  return to;
}

function bitsAt(bytes: Uint8Array, bit: number, width: number): number {
  const at = bit >> 3;
  const three = ((bytes[at] ?? 0) << 16) | ((bytes[at + 1] ?? 0) << 8) | (bytes[at + 2] ?? 0);
  return (three >> (24 - (bit & 7) - width)) & ((1 << width) - 1);
}
