import { describe, expect, spyOn, test } from "bun:test";
import fc from "fast-check";
import { mediaFile } from "../../src/core/media-file.ts";
import { bmp, flac, gif, jpeg, mp3, png, pngHead, wav, WEBP } from "../helpers/media-bytes.ts";
import { mediaFixture, turnedJpeg } from "../helpers/media-fixtures.ts";

test.each([
  ["PNG", png(7, 5)],
  ["GIF", gif(7, 5)],
  ["BMP", bmp(7, 5)],
  ["BMP", bmp(7, -5)], // rows from top to bottom
  ["JPEG", jpeg(7, 5)],
  ["JPEG", jpeg(7, 5, [])],
  ["JPEG", jpeg(7, 5, [65_535, 65_535, 2, 40])], // camera data and a colour profile come before the size
])("a picture says how large it is: %s", (format, bytes) => {
  expect(mediaFile(bytes)).toEqual({ modality: "image", format, size: { width: 7, height: 5 } });
});

test.each([
  ["quarters.avif", { format: "AVIF", size: { width: 64, height: 32 }, isForeign: true }],
  ["quarters.heic", { format: "HEIC", size: { width: 64, height: 64 }, isForeign: true }], // a whole block
  ["lossy.webp", { format: "WebP", size: { width: 32, height: 16 }, isForeign: true }],
  ["lossless.webp", { format: "WebP", size: { width: 32, height: 16 }, isForeign: true }],
  ["animated.webp", { format: "WebP", size: { width: 32, height: 16 }, isForeign: true, isAnimated: true }],
  ["animated.gif", { format: "GIF", size: { width: 32, height: 16 }, isAnimated: true }],
  ["lzw.tiff", { format: "TIFF", size: { width: 32, height: 16 }, isForeign: true }],
  ["cmyk.jpg", { format: "JPEG", size: { width: 32, height: 16 }, isForeign: true }],
])("%s says whether it is to be converted", (name, file) => {
  expect<object | undefined>(mediaFile(mediaFixture(name))).toEqual({ modality: "image", ...file });
});

test.each([
  ["boxes", "\0\0\0\x18ftypheic\0\0\0\0mif1heic", "\0\0\0\x08free"],
  ["brands", "\x7f\0\0\0ftypmif1\0\0\0\0", "none"],
  ["segments", "\xff\xd8", "\xff\xe1\0\x02"],
])("a head of endless %s is not read to its end", (_, start, part) => {
  const bytes = Uint8Array.from(Buffer.from(start + part.repeat(200_000), "latin1"));
  const reads = (["getUint8", "getUint16", "getUint32"] as const).map((name) =>
    spyOn(DataView.prototype, name),
  );
  mediaFile(bytes);
  const count = reads.reduce((sum, { mock }) => sum + mock.calls.length, 0);
  for (const read of reads) read.mockRestore();
  expect(count).toBeLessThan(200_000);
});

test("a camera says how it was held", () => {
  expect(mediaFile(turnedJpeg(6))).toMatchObject({ orientation: 6 });
  expect(mediaFile(turnedJpeg(1))).not.toHaveProperty("orientation");
  expect(mediaFile(turnedJpeg(9))).not.toHaveProperty("orientation");
});

test.each([
  ["WAV", wav(1.5), 1.5],
  ["WAV", wav(1.5, { rate: 44_100 }), 1.5],
  ["FLAC", flac(3), 3],
  ["FLAC", flac(300_000), 300_000], // more than 32 bits of samples
  ["MP3", mp3(100), (100 * 1152) / 44_100],
  ["MP3", mp3(100, 1000), (100 * 1152) / 44_100],
])("a recording says how long it is: %s", (format, bytes, seconds) => {
  const file = mediaFile(bytes);
  expect(file).toMatchObject({ modality: "audio", format });
  expect(file?.modality === "audio" ? file.seconds : 0).toBeCloseTo(seconds, 6);
});

describe("damaged files have neither size nor duration", () => {
  test.each([
    ["a PNG without a head", png().subarray(0, 12)],
    ["a PNG without pixels", pngHead(0, 5)],
    ["a JPEG that ends", jpeg().subarray(0, 12)],
    ["a JPEG with a segment without length", new Uint8Array([0xff, 0xd8, 0xff, 0xe0, 0, 0, 0, 0])],
    ["a JPEG whose scan begins without a frame", new Uint8Array([0xff, 0xd8, 0xff, 0xda, 0, 8, 1, 1])],
    ["a BMP that ends", bmp().subarray(0, 20)],
    ["a WAV that claims more than it holds", wav(1, { dataBytes: 0xffff_ffff })],
    ["a WAV of samples that differ in size", wav(1, { tag: 2 })],
    ["a WAV without samples", wav().subarray(0, 40)],
    ["a FLAC of unknown length", flac(0)],
    ["an MP3 that is mostly something else", new Uint8Array([...mp3(1), ...new Uint8Array(1000)])],
    ["a tag alone", mp3(0, 50)],
  ])("%s", (_, bytes) => {
    const file = mediaFile(bytes);
    expect(file?.modality).toBeString();
    for (const fact of ["size", "seconds", "rate"]) expect(file).not.toHaveProperty(fact);
  });
});

test.each([
  [WEBP, { modality: "image", format: "WebP", isForeign: true } as const],
  [
    new TextEncoder().encode("....ftypheic...."),
    { modality: "image", format: "HEIC", isForeign: true } as const,
  ],
  [new TextEncoder().encode("%PDF-1.7"), { modality: "none", format: "PDF" } as const],
  [new TextEncoder().encode("....ftypisom...."), { modality: "video", format: "MPEG-4" } as const],
  [new TextEncoder().encode("....moov...."), { modality: "video", format: "MPEG-4" } as const],
  [new TextEncoder().encode("OggS 1234567890"), { modality: "video", format: "Ogg" } as const],
  [new TextEncoder().encode("RIFF....AVI LIST"), { modality: "video", format: "AVI" } as const],
  [new TextEncoder().encode(`G${"-".repeat(187)}`.repeat(3)), { modality: "video", format: "MPEG" } as const],
  [
    new TextEncoder().encode("<svg xmlns='http://www.w3.org/2000/svg'/>"),
    { modality: "none", format: "SVG" } as const,
  ],
  [new Uint8Array(), undefined],
])("other files are known by their names, if they have one", (bytes, file) => {
  expect(mediaFile(bytes)).toEqual(file);
});

test("arbitrary bytes after a signature are handled", () => {
  const made = ["quarters.avif", "quarters.heic", "lossy.webp", "animated.gif", "lzw.tiff"].map(mediaFixture);
  const heads = [png(), gif(), bmp(), jpeg(), wav(), flac(), mp3(2), turnedJpeg(6), ...made];
  fc.assert(
    fc.property(
      fc.constantFrom(...heads),
      fc.nat(40),
      fc.uint8Array({ maxLength: 200 }),
      (whole, kept, noise) => void mediaFile(new Uint8Array([...whole.subarray(0, kept), ...noise])),
    ),
  );
});
