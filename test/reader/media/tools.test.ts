// Files that Debian's tools make, as phones, scanners and web pages have them, beside what ImageMagick decodes.
// SVC_SLOW_TESTS=1; apt install imagemagick webp libheif-examples libimage-exiftool-perl

import { expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { decode } from "fast-png";
import { readImage } from "../../../src/reader/media/images.ts";
import { describeWith } from "../../helpers/programs.ts";
import { tempDir } from "../../helpers/tmp.ts";

/** Mean difference of a colour, of 255: lossy formats round twice. */
const ROUNDING = 1.5;
const isSlow = process.env["SVC_SLOW_TESTS"] === "1";

describeWith(
  "convert",
  "cwebp",
  "heif-enc",
  "exiftool",
)("decoders", () => {
  const folder = tempDir();
  const at = (name: string): string => join(folder, name);

  function output(...argv: readonly string[]): Uint8Array {
    const { success, stdout, stderr } = Bun.spawnSync([...argv], { cwd: folder });
    if (!success) throw new Error(`${argv.join(" ")}: ${stderr.toString()}`);
    return stdout;
  }

  const MADE: readonly (readonly [name: string, ...argv: string[]])[] = [
    ...[1, 2, 3, 4, 5, 6, 7, 8].map((turn) => {
      const name = `turned-${turn}.jpg`;
      return [name, "exiftool", "-q", "-n", `-Orientation=${turn}`, "-o", name, "a.jpg"] as const;
    }),
    ["cmyk.jpg", "convert", "a.png", "-colorspace", "CMYK", "cmyk.jpg"],
    ["progressive.jpg", "convert", "a.png", "-interlace", "Plane", "progressive.jpg"],
    ["16.png", "convert", "a.png", "-depth", "16", "16.png"],
    ["lossy.webp", "cwebp", "-quiet", "a.png", "-o", "lossy.webp"],
    ["lossless.webp", "cwebp", "-quiet", "-lossless", "a.png", "-o", "lossless.webp"],
    ["a.heic", "heif-enc", "-q", "90", "a.png", "-o", "a.heic"],
    ...["None", "LZW", "Zip", "JPEG", "RLE"].map((kind) => {
      const name = `${kind}.tiff`;
      return [name, "convert", "a.png", "-compress", kind, name] as const;
    }),
    ...["Group4", "Fax"].map((kind) => {
      const name = `${kind}.tiff`;
      return [name, "convert", "a.png", "-monochrome", "-compress", kind, name] as const;
    }),
    ["16.tiff", "convert", "a.png", "-depth", "16", "16.tiff"],
    ["cmyk.tiff", "convert", "a.png", "-colorspace", "CMYK", "cmyk.tiff"],
    ["grey.tiff", "convert", "a.png", "-colorspace", "Gray", "grey.tiff"],
    ["tiles.tiff", "convert", "a.png", "-define", "tiff:tile-geometry=32x32", "tiles.tiff"],
    ["big-endian.tiff", "convert", "a.png", "-endian", "MSB", "big-endian.tiff"],
    ["palette.tiff", "convert", "a.png", "-colors", "16", "-type", "Palette", "palette.tiff"],
  ];

  test.skipIf(!isSlow)("see what ImageMagick sees", async () => {
    output("convert", "-size", "96x64", "plasma:red-blue", "-depth", "8", "PNG24:a.png");
    output("convert", "a.png", "-quality", "95", "a.jpg");
    for (const [name, ...argv] of MADE) {
      output(...argv);
      const reply = await readImage({
        data: readFileSync(at(name)).toString("base64"),
        framesMax: 8,
        framesPerSecond: 2,
      });
      if ("problem" in reply) throw new Error(`${name}: ${reply.problem}`);
      const { data, channels } = decode(Uint8Array.fromBase64(reply.frames[0]?.png ?? ""));
      const form = ["-auto-orient", "-colorspace", "sRGB", "-alpha", "off", "-depth", "8", "rgb:-"];
      const wanted = output("convert", `${name}[0]`, ...form);
      expect((data.length / channels) * 3, name).toBe(wanted.length);
      const sum = wanted.reduce((total, value, index) => {
        const colour = channels < 3 ? 0 : index % 3;
        return total + Math.abs(value - (data[Math.floor(index / 3) * channels + colour] ?? 0));
      }, 0);
      expect(sum / wanted.length, name).toBeLessThan(ROUNDING);
    }
  });
});
