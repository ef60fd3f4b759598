// Files of test/fixtures/media: four fields, red, lime, blue and white, made with ImageMagick, libwebp, libheif and libavif;
// sounds made with ffmpeg, opus-tools and vorbis-tools.

import { readFileSync } from "node:fs";
import { join } from "node:path";

const FOLDER = join(import.meta.dir, "../fixtures/media");

export function mediaFixture(name: string): Uint8Array<ArrayBuffer> {
  return new Uint8Array(readFileSync(join(FOLDER, name)));
}

/** A JPEG file that a camera held in another way: an Exif segment with this orientation. */
export function turnedJpeg(orientation: number): Uint8Array<ArrayBuffer> {
  const jpeg = mediaFixture("quarters.jpg");
  const tag = [0x12, 1, 3, 0, 1, 0, 0, 0, orientation, 0, 0, 0];
  const exif = [...Buffer.from("Exif\0\0II*\0\b\0\0\0", "latin1"), 1, 0, ...tag, 0, 0, 0, 0];
  return new Uint8Array([0xff, 0xd8, 0xff, 0xe1, 0, exif.length + 2, ...exif, ...jpeg.subarray(2)]);
}
