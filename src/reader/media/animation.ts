// Frames of animated GIF and WebP files, as a viewer shows them: each is drawn over what those before it left.
// A frame of the container becomes a file of its own, which the runtime decodes. Sources: RFC 9649 for WebP, GIF89a for GIF, whose
// container omggif (MIT) reads; omggif's decoder of pixels never ends on some damaged files.

import { type FrameInfo, GifReader } from "omggif";
import { ANIMATION_FRAMES_MAX } from "../limits.ts";
import { imageOf, ImageProblem, type Raster, rasterOf } from "./raster.ts";

/** What is drawn, and what is left of it before the next frame. */
interface Step {
  readonly left: number;
  readonly top: number;
  readonly width: number;
  readonly height: number;
  readonly milliseconds: number;
  readonly leaves: "image" | "nothing" | "what was there";
  readonly draw: (canvas: Uint8Array) => Promise<void>;
}

interface Animation {
  readonly width: number;
  readonly height: number;
  readonly steps: readonly Step[];
}

/** A frame as it is shown. */
export interface ShownFrame {
  readonly raster: Raster;
  /** Time at which it appears. */
  readonly seconds: number;
}

/** Frames, evenly spaced in number, `wanted` for a duration in seconds; and how many there are. */
export async function* shownFrames(
  { width, height, steps }: Animation,
  wanted: (seconds: number) => number,
): AsyncGenerator<ShownFrame> {
  const total = steps.reduce((sum, { milliseconds }) => sum + milliseconds, 0);
  const count = Math.max(1, Math.min(steps.length, wanted(total / 1000)));
  const chosen = new Set(Array.from({ length: count }, (_, nth) => Math.floor((nth * steps.length) / count)));
  const canvas = new Uint8Array(width * height * 4);
  let passed = 0;
  for (const [index, step] of steps.entries()) {
    const before = step.leaves === "what was there" ? canvas.slice() : undefined;
    await step.draw(canvas);
    if (chosen.has(index)) yield { raster: { width, height, data: canvas }, seconds: passed / 1000 };
    passed += step.milliseconds;
    if (before !== undefined) canvas.set(before);
    else if (step.leaves === "nothing") clear(canvas, width, step);
  }
}

function clear(canvas: Uint8Array, canvasWidth: number, { left, top, width, height }: Step): void {
  for (let row = top; row < top + height; row++) {
    const start = (row * canvasWidth + left) * 4;
    canvas.fill(0, start, start + width * 4);
  }
}

/** How a GIF frame goes, by its number. */
const GIF_LEAVES: Readonly<Record<number, Step["leaves"]>> = { 2: "nothing", 3: "what was there" };

export function gifAnimation(bytes: Uint8Array): Animation {
  const reader = new GifReader(bytes);
  const steps = Array.from(
    { length: Math.min(reader.numFrames(), ANIMATION_FRAMES_MAX) },
    (_, index): Step => {
      const frame = reader.frameInfo(index);
      const { x, y, width, height, delay, disposal } = frame;
      if (x + width > reader.width || y + height > reader.height) throw new ImageProblem("damaged");
      const area = { left: x, top: y, width, height };
      return {
        ...area,
        milliseconds: delay * 10,
        leaves: GIF_LEAVES[disposal] ?? "image",
        draw: async (canvas) => {
          const pixels = await pixelsOf(gifFrame(bytes, frame), area);
          blit(canvas, reader.width, { ...area, pixels, isBlended: true });
        },
      };
    },
  );
  return { width: reader.width, height: reader.height, steps };
}

/** A frame as a file of its own: a screen of its size, its colours as those of the screen. */
function gifFrame(
  bytes: Uint8Array,
  {
    width,
    height,
    interlaced,
    transparent_index: clearColour,
    palette_offset: palette,
    palette_size: colours,
    data_offset: data,
    data_length: length,
  }: FrameInfo,
): Uint8Array {
  if (palette === null || colours === null) throw new ImageProblem("damaged");
  const size = [width & 255, width >> 8, height & 255, height >> 8];
  return Buffer.concat([
    Buffer.from("GIF89a"),
    Buffer.of(...size, 0x80 | (Math.log2(colours) - 1), 0, 0),
    bytes.subarray(palette, palette + colours * 3),
    Buffer.of(0x21, 0xf9, 4, clearColour === null ? 0 : 1, 0, 0, clearColour ?? 0, 0),
    Buffer.of(0x2c, 0, 0, 0, 0, ...size, interlaced ? 0x40 : 0),
    bytes.subarray(data, data + length),
    Buffer.of(0x3b),
  ]);
}

export function webpAnimation(bytes: Uint8Array<ArrayBuffer>): Animation {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const three = (at: number): number => view.getUint16(at, true) + view.getUint8(at + 2) * 0x1_0000;
  const width = 1 + three(24);
  const height = 1 + three(27);
  const steps: Step[] = [];
  for (const { type, start, end } of chunks(view)) {
    if (type !== "ANMF") continue;
    const left = 2 * three(start);
    const top = 2 * three(start + 3);
    const frame = { width: 1 + three(start + 6), height: 1 + three(start + 9) };
    if (left + frame.width > width || top + frame.height > height) throw new ImageProblem("damaged");
    const flags = view.getUint8(start + 15);
    const isBlended = (flags & 2) === 0;
    const step = { left, top, ...frame };
    steps.push({
      ...step,
      milliseconds: three(start + 12),
      leaves: (flags & 1) === 1 ? "nothing" : "image",
      draw: async (canvas) => {
        const pixels = await pixelsOf(webpFrame(bytes.subarray(start + 16, end), frame), frame);
        blit(canvas, width, { ...step, pixels, isBlended });
      },
    });
    if (steps.length === ANIMATION_FRAMES_MAX) break;
  }
  return { width, height, steps };
}

function* chunks(
  view: DataView,
): Generator<{ readonly type: string; readonly start: number; readonly end: number }> {
  for (let at = 12; at + 8 <= view.byteLength;) {
    const type = String.fromCharCode(...[0, 1, 2, 3].map((byte) => view.getUint8(at + byte)));
    const length = view.getUint32(at + 4, true);
    if (at + 8 + length > view.byteLength) throw new ImageProblem("damaged");
    yield { type, start: at + 8, end: at + 8 + length };
    at += 8 + length + (length % 2);
  }
}

/** Opacity of the frame is in a chunk of its own. */
const OPACITY_FLAG = 0x10;

/** A frame as a file of its own. */
function webpFrame(chunk: Uint8Array, { width, height }: Pick<Step, "width" | "height">): Uint8Array {
  const three = (value: number): readonly number[] => [value & 255, (value >> 8) & 255, value >> 16];
  const head = [OPACITY_FLAG, 0, 0, 0, ...three(width - 1), ...three(height - 1)];
  const words = new TextEncoder();
  const file = new Uint8Array(30 + chunk.byteLength);
  file.set(words.encode("RIFF....WEBPVP8X"));
  new DataView(file.buffer).setUint32(4, file.byteLength - 8, true);
  file.set([10, 0, 0, 0, ...head], 16);
  file.set(chunk, 30);
  return file;
}

async function pixelsOf(
  file: Uint8Array,
  { width, height }: Pick<Step, "width" | "height">,
): Promise<Raster["data"]> {
  const raster = await rasterOf(imageOf(file));
  if (raster.width !== width || raster.height !== height) throw new ImageProblem("damaged");
  return raster.data;
}

function blit(
  canvas: Uint8Array,
  canvasWidth: number,
  {
    left,
    top,
    width,
    height,
    pixels,
    isBlended,
  }: Pick<Step, "left" | "top" | "width" | "height"> & {
    readonly pixels: Raster["data"];
    readonly isBlended: boolean;
  },
): void {
  for (let row = 0; row < height; row++) {
    const start = ((top + row) * canvasWidth + left) * 4;
    const line = pixels.subarray(row * width * 4, (row + 1) * width * 4);
    if (!isBlended) canvas.set(line, start);
    else
      for (let at = 0; at < line.length; at += 4) blendPixel(canvas, start + at, line.subarray(at, at + 4));
  }
}

/** RFC 9649, section 2.7.1.1: the colours are not multiplied by their opacity. */
function blendPixel(canvas: Uint8Array, at: number, pixel: Raster["data"]): void {
  const above = pixel[3] ?? 0;
  if (above === 0) return;
  const below = ((canvas[at + 3] ?? 0) * (255 - above)) / 255;
  const whole = above + below;
  for (let colour = 0; colour < 3; colour++) {
    const mixed = (pixel[colour] ?? 0) * above + (canvas[at + colour] ?? 0) * below;
    canvas[at + colour] = Math.round(mixed / whole);
  }
  canvas[at + 3] = Math.round(whole);
}
