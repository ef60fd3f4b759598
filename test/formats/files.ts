// The folder of files as phones, cameras, scanners, browsers and sound recorders write them, made with Debian's tools.

import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { docxOf, pdfOf } from "../helpers/documents.ts";
import { zipOf } from "../helpers/zip.ts";

/** A file, and the command that makes it in the folder. */
export type Made = readonly [name: string, ...argv: string[]];

/** What the folder is made from and with: apt packages imagemagick, webp, libheif-examples, libavif-bin, exiftool, ffmpeg, libtiff-tools. */
export const PROGRAMS = [
  "convert",
  "cwebp",
  "gif2webp",
  "heif-enc",
  "avifenc",
  "exiftool",
  "ffmpeg",
  "tiffcp",
] as const;

const convert = (name: string, ...options: readonly string[]): Made => [
  name,
  "convert",
  "a.png",
  ...options,
  name,
];

const WORDS = "The code is 7413.";

/** Documents with these words, each with its bytes. Office programs would take a gigabyte of packages, so their parts are written here. */
export const DOCUMENTS: readonly (readonly [name: string, bytes: Uint8Array])[] = [
  ["text.pdf", pdfOf([WORDS])],
  ["letter.docx", docxOf(`<w:p><w:r><w:t>${WORDS}</w:t></w:r></w:p>`)],
  [
    "sheet.xlsx",
    zipOf([
      {
        name: "xl/workbook.xml",
        content: `<workbook><sheets><sheet name="Costs" r:id="r1"/></sheets></workbook>`,
      },
      {
        name: "xl/_rels/workbook.xml.rels",
        content: `<Relationships><Relationship Id="r1" Target="worksheets/sheet1.xml"/></Relationships>`,
      },
      {
        name: "xl/worksheets/sheet1.xml",
        content: `<worksheet><sheetData><row><c r="A1" t="inlineStr"><is><t>${WORDS}</t></is></c></row></sheetData></worksheet>`,
      },
    ]),
  ],
  [
    "deck.pptx",
    zipOf([
      { name: "ppt/presentation.xml", content: "<p:presentation/>" },
      {
        name: "ppt/slides/slide1.xml",
        content: `<p:sld><a:p><a:r><a:t>${WORDS}</a:t></a:r></a:p></p:sld>`,
      },
    ]),
  ],
  [
    "letter.odt",
    zipOf([
      {
        name: "content.xml",
        content: `<office:document-content><office:text><text:p>${WORDS}</text:p></office:text></office:document-content>`,
      },
    ]),
  ],
];

/** Images, in an order in which later ones may use earlier ones. */
export const IMAGES: readonly Made[] = [
  ...[1, 2, 3, 4, 5, 6, 7, 8].map((turn): Made => {
    const name = `turned-${turn}.jpg`;
    return [name, "exiftool", "-q", "-n", `-Orientation=${turn}`, "-o", name, "a.jpg"];
  }),
  ["progressive.jpg", "convert", "a.png", "-interlace", "Plane", "progressive.jpg"],
  convert("grey.jpg", "-colorspace", "Gray"),
  convert("cmyk.jpg", "-colorspace", "CMYK"),
  convert("halved.jpg", "-sampling-factor", "4:2:0", "-quality", "80"),
  convert("16.png", "-depth", "16"),
  convert("palette.png", "-colors", "16", "-type", "Palette"),
  convert("bits.png", "-monochrome"),
  convert("interlaced.png", "-interlace", "PNG"),
  ["clear.png", "convert", "clear.miff", "PNG32:clear.png"],
  ["clear-16.png", "convert", "clear.miff", "-depth", "16", "PNG64:clear-16.png"],
  ["clear-grey.png", "convert", "clear.miff", "-colorspace", "Gray", "-depth", "8", "clear-grey.png"],
  ["clear-palette.png", "convert", "cut.miff", "-colors", "16", "PNG8:clear-palette.png"],
  ["cut.gif", "convert", "cut.miff", "-colors", "64", "cut.gif"],
  convert("still.gif", "-colors", "64"),
  ["moving.gif", "convert", "-delay", "50", "a.png", "b.png", "-loop", "0", "moving.gif"],
  ["lossy.webp", "cwebp", "-quiet", "a.png", "-o", "lossy.webp"],
  ["lossless.webp", "cwebp", "-quiet", "-lossless", "a.png", "-o", "lossless.webp"],
  ["clear.webp", "cwebp", "-quiet", "-lossless", "-exact", "clear.png", "-o", "clear.webp"],
  ["moving.webp", "gif2webp", "-quiet", "moving.gif", "-o", "moving.webp"],
  ["a.heic", "heif-enc", "-q", "90", "a.png", "-o", "a.heic"],
  ["a.avif", "avifenc", "--min", "2", "--max", "6", "a.png", "a.avif"],
  ["moving.avif", "avifenc", "--min", "2", "--max", "6", "a.png", "b.png", "moving.avif"],
  ["10.avif", "avifenc", "-d", "10", "--min", "2", "--max", "6", "a.png", "10.avif"],
  ...["None", "LZW", "Zip", "JPEG", "RLE"].map((kind) => convert(`${kind}.tiff`, "-compress", kind)),
  ...["Group4", "Fax"].map((kind) => convert(`${kind}.tiff`, "-monochrome", "-compress", kind)),
  convert("16.tiff", "-depth", "16"),
  convert("cmyk.tiff", "-colorspace", "CMYK"),
  convert("grey.tiff", "-colorspace", "Gray"),
  convert("tiles.tiff", "-define", "tiff:tile-geometry=32x32"),
  convert("big-endian.tiff", "-endian", "MSB"),
  convert("palette.tiff", "-colors", "16", "-type", "Palette"),
  ["clear.tiff", "convert", "clear.miff", "-compress", "LZW", "clear.tiff"],
  ["pages.tiff", "convert", "a.png", "b.png", "-compress", "LZW", "pages.tiff"],
  ["24.bmp", "convert", "a.png", "-type", "TrueColor", "BMP3:24.bmp"],
  convert("8.bmp", "-colors", "64", "-type", "Palette", "-compress", "None"),
  convert("bits.bmp", "-monochrome"),
];

/** What is refused, with words that the error must hold. */
export const REFUSED: readonly (readonly [made: Made, words: string])[] = [
  [["planes.tiff", "tiffcp", "-p", "separate", "None.tiff", "planes.tiff"], "is a TIFF file that has a form"],
  [["big.tiff", "tiffcp", "-8", "None.tiff", "big.tiff"], "it is a BigTIFF file; send PNG"],
  [convert("a.ico", "-resize", "64x64!"), "it is a Windows icon file; send PNG"],
  [convert("a.jp2"), "it is a JPEG 2000 file; send PNG"],
  [convert("a.psd"), "it is a Photoshop file; send PNG"],
  [["a.svg", "cp", "drawing.txt", "a.svg"], "it is a SVG file; send PNG"],
  [convert("runs.bmp", "-colors", "64", "-type", "Palette", "-compress", "RLE"), "is a BMP file"],
];

const sound = (name: string, ...options: readonly string[]): Made => [
  name,
  "ffmpeg",
  "-v",
  "error",
  "-i",
  "a.wav",
  ...options,
  name,
];

/** Sounds of a stereo recording at 48 kHz. */
export const SOUNDS: readonly Made[] = [
  sound("8.wav", "-c:a", "pcm_u8"),
  sound("16.wav", "-c:a", "pcm_s16le"),
  sound("24.wav", "-c:a", "pcm_s24le"),
  sound("32.wav", "-c:a", "pcm_s32le"),
  sound("float.wav", "-c:a", "pcm_f32le"),
  sound("phone.wav", "-c:a", "pcm_mulaw", "-ar", "8000", "-ac", "1"),
  sound("engine.wav", "-ar", "16000", "-ac", "1"),
  sound("surround.wav", "-ac", "6"),
  sound("44.mp3", "-ar", "44100", "-b:a", "192k"),
  sound("vbr.mp3", "-q:a", "4"),
  sound("mono.mp3", "-ar", "22050", "-ac", "1", "-b:a", "64k"),
  sound("16.flac", "-sample_fmt", "s16"),
  sound("24.flac", "-sample_fmt", "s32"),
  sound("96.flac", "-ar", "96000"),
  sound("stereo.opus", "-c:a", "libopus", "-b:a", "128k"),
  sound("mono.opus", "-c:a", "libopus", "-ac", "1", "-b:a", "64k"),
  sound("a.ogg", "-c:a", "libvorbis", "-q:a", "6"),
  sound("44.ogg", "-c:a", "libvorbis", "-ar", "44100", "-q:a", "6"),
  sound("flac.ogg", "-c:a", "flac"),
  sound("a.m4a", "-c:a", "aac", "-b:a", "128k"),
  sound("alac.m4a", "-c:a", "alac"),
  sound("a.aac", "-c:a", "aac", "-b:a", "128k"),
  sound("a.webm", "-c:a", "libopus", "-b:a", "96k"),
  sound("a.mp4", "-c:a", "aac"),
  sound("a.mov", "-c:a", "pcm_s16le"),
  sound("a.aiff", "-c:a", "pcm_s16be"),
  sound("a.caf", "-c:a", "pcm_s16le"),
  sound("a.wma", "-c:a", "wmav2"),
  sound("a.mka", "-c:a", "flac"),
  sound("adpcm.wav", "-c:a", "adpcm_ms"),
];

/** Makes the files in a folder. Throws with the tool's words. */
export function makeFolder(folder: string): void {
  const run = (...argv: readonly string[]): void => {
    const { success, stderr } = Bun.spawnSync([...argv], { cwd: folder });
    if (!success) throw new Error(`${argv.join(" ")}: ${stderr.toString()}`);
  };
  const plasma = ["convert", "-size", "96x64", "-seed", "7", "plasma:red-blue", "-depth", "8"];
  run(...plasma, "PNG24:a.png");
  run("convert", "a.png", "-negate", "PNG24:b.png");
  run("convert", "a.png", "-quality", "95", "a.jpg");
  const ramp = ["(", "-size", "64x96", "gradient:white-black", "-rotate", "90", ")"];
  const opacity = ["-alpha", "off", "-compose", "CopyOpacity", "-composite"];
  run("convert", "a.png", ...ramp, ...opacity, "clear.miff");
  run("convert", "clear.miff", "-channel", "A", "-threshold", "50%", "cut.miff");
  writeFileSync(
    join(folder, "drawing.txt"),
    '<?xml version="1.0"?>\n<svg xmlns="http://www.w3.org/2000/svg"/>',
  );
  writeFileSync(join(folder, "a.wav"), recording());
  for (const [, ...argv] of [...IMAGES, ...REFUSED.map(([made]) => made), ...SOUNDS]) run(...argv);
}

const RATE = 48_000;
const SECONDS = 1.5;

/** Two channels of chirps and noise with a band up to 7 kHz, which the engine's rate can hold. */
function recording(): Buffer {
  const count = RATE * SECONDS;
  const file = Buffer.alloc(44 + count * 4);
  file.write("RIFF", 0);
  file.writeUInt32LE(file.length - 8, 4);
  file.write("WAVEfmt ", 8);
  file.writeUInt32LE(16, 16);
  file.writeUInt16LE(1, 20);
  file.writeUInt16LE(2, 22);
  file.writeUInt32LE(RATE, 24);
  file.writeUInt32LE(RATE * 4, 28);
  file.writeUInt16LE(4, 32);
  file.writeUInt16LE(16, 34);
  file.write("data", 36);
  file.writeUInt32LE(count * 4, 40);
  for (let index = 0; index < count; index++) {
    const time = index / RATE;
    const swept = (low: number, high: number): number =>
      Math.sin(2 * Math.PI * (low * time + ((high - low) * time * time) / (2 * SECONDS)));
    const left = 0.4 * swept(100, 3000) + 0.2 * swept(6000, 2000);
    const right = 0.3 * swept(300, 300) + 0.2 * swept(1000, 6500);
    file.writeInt16LE(Math.round(left * 32_767), 44 + index * 4);
    file.writeInt16LE(Math.round(right * 32_767), 46 + index * 4);
  }
  return file;
}
