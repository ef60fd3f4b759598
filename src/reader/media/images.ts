// An image file of any known format as PNG files. Runs in a reader process: files come from anywhere.
// The runtime decodes PNG, JPEG with all its colours, GIF, BMP and WebP (libspng, libjpeg-turbo, libwebp).

import { heifFrames } from "../../core/image-file.ts";
import { mediaFile, type MediaFile } from "../../core/media-file.ts";
import type { ImageReply, ImageTask } from "../protocol.ts";
import {
  finishedPng,
  imageOf,
  ImageProblem,
  plainPng,
  type Raster,
  rasterOf,
  rasterPng,
  withinPixels,
} from "./raster.ts";

type ImageMedium = Extract<MediaFile, { readonly modality: "image" }>;

/** The frames of an image, one unless it is animated; or why there are none. */
export async function readImage({ data, framesMax, framesPerSecond }: ImageTask): Promise<ImageReply> {
  const bytes = Uint8Array.fromBase64(data);
  const file = mediaFile(bytes);
  if (file?.modality !== "image" || file.size === undefined) return { problem: "damaged" };
  try {
    if (file.isAnimated === true)
      return await animated(bytes, file, (seconds) =>
        Math.min(framesMax, Math.max(2, Math.ceil(seconds * framesPerSecond))),
      );
    const { png, total } = await still(bytes, file);
    return { frames: [{ png: png.toBase64(), seconds: 0 }], total };
  } catch (error) {
    if (error instanceof ImageProblem) return { problem: error.problem };
    return { problem: error instanceof RangeError && /memory/i.test(error.message) ? "tooLarge" : "damaged" };
  }
}

/** An image, and how many there are in its file. */
interface Still {
  readonly png: Uint8Array;
  readonly total: number;
}

async function still(bytes: Uint8Array<ArrayBuffer>, { format, orientation }: ImageMedium): Promise<Still> {
  const turned = async (raster: Raster, total = 1): Promise<Still> => ({
    png: await rasterPng(raster, orientation),
    total,
  });
  switch (format) {
    case "HEIC":
      return turned(await (await import("./heif.ts")).heicRaster(bytes), heifFrames(viewOf(bytes)));
    case "AVIF": {
      const { avifRaster, heifOrientation } = await import("./heif.ts");
      return {
        png: await rasterPng(await avifRaster(bytes), heifOrientation(bytes)),
        total: heifFrames(viewOf(bytes)),
      };
    }
    case "TIFF": {
      const { raster, pages } = (await import("./tiff.ts")).tiffRaster(bytes);
      return turned(raster, pages);
    }
    case "WebP":
    case "GIF":
    case "PNG":
      return { png: await finishedPng(await onWhite(bytes), orientation), total: 1 };
    case "BMP":
      throw new ImageProblem("unsupported");
    case "JPEG":
      if (!isWhole(bytes)) throw new ImageProblem("damaged");
      return { png: await finishedPng(bytes, orientation), total: 1 };
    default:
      return { png: await finishedPng(bytes, orientation), total: 1 };
  }
}

function viewOf({ buffer, byteOffset, byteLength }: Uint8Array<ArrayBuffer>): DataView {
  return new DataView(buffer, byteOffset, byteLength);
}

/** Without what shows through, which the engine's decoder would paint black. */
async function onWhite(bytes: Uint8Array): Promise<Uint8Array> {
  return plainPng(await rasterOf(await withinPixels(imageOf(bytes))));
}

/** Whether a JPEG file's last scan has an end: its decoder paints grey what is missing. */
function isWhole(bytes: Uint8Array<ArrayBuffer>): boolean {
  const file = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  return file.lastIndexOf(Buffer.of(0xff, 0xd9)) > file.lastIndexOf(Buffer.of(0xff, 0xda));
}

async function animated(
  bytes: Uint8Array<ArrayBuffer>,
  { format, orientation }: ImageMedium,
  wanted: (seconds: number) => number,
): Promise<ImageReply> {
  const { gifAnimation, shownFrames, webpAnimation } = await import("./animation.ts");
  const animation = format === "GIF" ? gifAnimation(bytes) : webpAnimation(bytes);
  const frames: { png: string; seconds: number }[] = [];
  for await (const { raster, seconds } of shownFrames(animation, wanted))
    frames.push({ png: (await rasterPng(raster, orientation)).toBase64(), seconds });
  return frames.length === 0 ? { problem: "damaged" } : { frames, total: animation.steps.length };
}
