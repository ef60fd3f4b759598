// Images of all formats: the decoders see what the encoders were given, and nothing is worse than an error.

import { beforeAll, describe, expect, mock, test } from "bun:test";
import { deflateSync } from "node:zlib";
import { decode, encode } from "fast-png";
import fc from "fast-check";
import { GifReader, GifWriter } from "omggif";
import { checkedMedium } from "../../../src/core/media.ts";
import { mediaFile } from "../../../src/core/media-file.ts";
import { plainPng } from "../../../src/reader/media/raster.ts";
import { readImage } from "../../../src/reader/media/images.ts";
import { jpeg, png, tiff } from "../../helpers/media-bytes.ts";
import { mediaFixture, turnedJpeg } from "../../helpers/media-fixtures.ts";

beforeAll(() => void Object.assign(console, { log: mock() })); // the decoders talk

const read = (bytes: Uint8Array<ArrayBuffer>, framesMax = 8) =>
  readImage({ data: bytes.toBase64(), framesMax, framesPerSecond: 2 });

/** Letters of the fields, row by row: red, green, blue, white, as they are seen in their middles; their negatives in lower case. */
const FIELDS: readonly (readonly [letter: string, colour: readonly number[]])[] = [
  ["R", [255, 0, 0]],
  ["G", [0, 255, 0]],
  ["B", [0, 0, 255]],
  ["W", [255, 255, 255]],
  ["r", [0, 255, 255]],
  ["g", [255, 0, 255]],
  ["b", [255, 255, 0]],
  ["w", [0, 0, 0]],
];
/** Lossy formats, 8 bits. */
const ROUNDING = 24;

function fields(file: string): { readonly letters: string; readonly shape: string } {
  const { width, height, data, channels } = decode(Uint8Array.fromBase64(file));
  const letters = [0.25, 0.75].flatMap((down) =>
    [0.25, 0.75].map((right) => {
      const at = (Math.floor(down * height) * width + Math.floor(right * width)) * channels;
      const found = FIELDS.find(([, colour]) =>
        colour.every((value, index) => Math.abs(value - (data[at + index] ?? 0)) <= ROUNDING),
      );
      return found?.[0] ?? `(${data.slice(at, at + 3).join()})`;
    }),
  );
  return { letters: letters.join(""), shape: width > height ? "wide" : "high" };
}

async function seen(bytes: Uint8Array<ArrayBuffer>) {
  const reply = await read(bytes);
  if ("problem" in reply) throw new Error(reply.problem);
  return reply.frames.map(({ png: file }) => fields(file));
}

const UPRIGHT = { letters: "RGBW", shape: "wide" };

test.each([
  "quarters.jpg",
  "cmyk.jpg",
  "lossy.webp",
  "lossless.webp",
  "quarters.heic",
  "quarters.avif",
  "lzw.tiff",
  "cmyk.tiff",
])("%s has its colours", async (name) => {
  expect(await seen(mediaFixture(name))).toEqual([UPRIGHT]);
});

test.each([
  [1, "RGBW", "wide"],
  [2, "GRWB", "wide"],
  [3, "WBGR", "wide"],
  [4, "BWRG", "wide"],
  [5, "RBGW", "high"],
  [6, "BRWG", "high"],
  [7, "WGBR", "high"],
  [8, "GWRB", "high"],
])("orientation %i of a camera is turned upright", async (orientation, letters, shape) => {
  expect(await seen(turnedJpeg(orientation))).toEqual([{ letters, shape }]);
});

test("an AVIF file is turned as its boxes say: to the left, then upside down", async () => {
  expect(await seen(mediaFixture("turned.avif"))).toEqual([{ letters: "RBGW", shape: "high" }]);
});

test.each(["animated.gif", "animated.webp"])("%s has its frames and their times", async (name) => {
  const reply = await read(mediaFixture(name));
  expect(reply).toMatchObject({ total: 2, frames: [{ seconds: 0 }, { seconds: 1 }] });
  expect(await seen(mediaFixture(name))).toEqual([UPRIGHT, { letters: "rgbw", shape: "wide" }]);
  const first = await read(mediaFixture(name), 1);
  expect("frames" in first && first.frames).toHaveLength(1);
});

test("an interlaced frame of few lines, whose later passes are empty", async () => {
  const buffer = new Uint8Array(4096);
  const writer = new GifWriter(buffer, 2, 3, { palette: [0xff0000, 0x00ff00, 0x0000ff, 0xffffff], loop: 0 });
  // Lines are stored as the passes take them: 0, then 2, then 1.
  const lines = [0, 0, 2, 2, 1, 1];
  for (let frame = 0; frame < 2; frame++) writer.addFrame(0, 0, 2, 3, lines, { delay: 50 });
  const file = buffer.slice(0, writer.end());
  const frames = new GifReader(file);
  for (let frame = 0; frame < 2; frame++) file[frames.frameInfo(frame).data_offset - 1] = 0x40;
  const reply = await read(file);
  const shown = "frames" in reply ? (reply.frames[1]?.png ?? "") : "";
  const { data, channels } = decode(Uint8Array.fromBase64(shown));
  const firsts = [0, 2, 4].map((pixel) => Array.from(data.slice(pixel * channels, pixel * channels + 3)));
  expect(firsts).toEqual([
    [255, 0, 0],
    [0, 255, 0],
    [0, 0, 255],
  ]);
});

test("pixels that are too many become the means of squares, of rows with gaps between them", () => {
  const [width, height, rowBytes] = [4101, 4101, 4101 * 3 + 5];
  const data = new Uint8Array(rowBytes * height);
  for (let row = 0; row < height; row += 2) data.fill(200, row * rowBytes, row * rowBytes + 30); // every other row
  const shown = decode(plainPng({ width, height, data, rowBytes, channels: 3 }));
  expect([shown.width, shown.height]).toEqual([2050, 2050]);
  expect(Array.from(shown.data.slice(12, 18))).toEqual([100, 100, 100, 0, 0, 0]);
});

function sizeOf(bytes: Uint8Array<ArrayBuffer>) {
  const file = mediaFile(bytes);
  return file?.modality === "image" ? file.size : undefined;
}

describe("hostile files are a problem, or an image", () => {
  const names = ["quarters.jpg", "lossy.webp", "quarters.heic", "quarters.avif", "lzw.tiff", "animated.gif"];
  const files = [...names, "animated.webp"].map(mediaFixture);

  test("cut off", async () => {
    for (const file of files)
      expect(await read(file.slice(0, Math.floor(file.length * 0.7)))).toHaveProperty("problem");
  });

  test("with other bytes", async () => {
    // The server reads the size before, and refuses what is too large.
    const isSmall = (file: Uint8Array<ArrayBuffer>): boolean => {
      const { width = 0, height = 0 } = sizeOf(file) ?? {};
      return width * height < 1_000_000;
    };
    await fc.assert(
      fc.asyncProperty(
        fc.constantFrom(...files),
        fc.array(fc.tuple(fc.nat(), fc.nat(255)), { minLength: 1, maxLength: 4 }),
        async (file, changes) => {
          const changed = new Uint8Array(file);
          for (const [at, byte] of changes) changed[at % file.length] = byte;
          if (isSmall(changed)) expect(await read(changed)).toBeObject();
        },
      ),
      { numRuns: 40 },
    );
  });

  const SMALL = { 256: [2], 257: [1], 258: [8, 8, 8], 259: [1], 262: [2], 277: [3] };
  const PIXELS = Uint8Array.of(255, 0, 0, 0, 0, 255);

  test.each([
    ["is whole", tiff(SMALL, PIXELS), undefined],
    ["leads to its first page again", tiff(SMALL, PIXELS, 8), undefined],
    [
      "claims more values than it has",
      Object.assign(tiff({ ...SMALL, 700: [1] }, PIXELS), { 113: 255 }),
      undefined,
    ],
    ["has no strip", tiff({ ...SMALL, 278: [1], 257: [2] }, PIXELS), "damaged"],
    ["ends too early", tiff(SMALL, PIXELS.subarray(1)), "damaged"],
    ["has samples of 256 bits", tiff({ ...SMALL, 258: [256, 256, 256] }, PIXELS), "unsupported"],
    ["is packed in an unknown way", tiff({ ...SMALL, 259: [34712] }, PIXELS), "unsupported"],
    [
      "has codes before they are made",
      tiff({ ...SMALL, 259: [5] }, Uint8Array.of(128, 64, 255, 255)),
      "damaged",
    ],
    ["grows when it is unpacked", tiff({ ...SMALL, 259: [8] }, deflateSync(new Uint8Array(1e7))), "damaged"],
    ["repeats one byte", tiff({ ...SMALL, 259: [32773] }, Uint8Array.of(251, 255)), undefined],
    ["holds a larger JPEG", tiff({ ...SMALL, 259: [7], 262: [6] }, jpeg(8000, 8000)), "damaged"],
  ])("a TIFF that %s", async (_, file, problem) => {
    const reply = await read(file);
    if (problem === undefined) expect(reply).toMatchObject({ total: 1, frames: [{}] });
    else expect(reply).toHaveProperty("problem", problem);
  });

  test("text", async () => {
    expect(await read(new TextEncoder().encode("hello"))).toEqual({ problem: "damaged" });
  });
});

/** One pixel of no colour. */
const CLEAR_GIF = "R0lGODlhAQABAIAAAAAAAP///yH5BAEAAAAALAAAAAABAAEAAAIBRAA7";

test("what shows through is white, also in formats that the engine reads", async () => {
  const clear = (channels: 2 | 4) =>
    new Uint8Array(encode({ width: 8, height: 4, channels, data: new Uint8Array(8 * 4 * channels) }));
  const webp = new Uint8Array(await new Bun.Image(clear(4)).webp({ lossless: true }).bytes());
  for (const file of [clear(4), clear(2), Uint8Array.fromBase64(CLEAR_GIF), webp]) {
    expect(checkedMedium(file, "image", {}, "image").isConverted).toBe(true);
    const reply = await read(file);
    const { data } = decode(Uint8Array.fromBase64("frames" in reply ? (reply.frames[0]?.png ?? "") : ""));
    expect(data.slice(0, 3)).toEqual(Uint8Array.of(255, 255, 255));
  }
  expect(checkedMedium(png(8, 4, [9, 9, 9]), "image", {}, "image").isConverted).toBe(false);
});
