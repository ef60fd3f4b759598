// Whether an image fits, with a library whose buffers grow with the pixels.

import { expect, test } from "bun:test";
import { reasonOf } from "../../src/core/reason.ts";
import { decodesInTiles, type ImageSize } from "../../ffi/image/room.ts";
import { rejection } from "../helpers/failure.ts";

const BYTES_PER_PIXEL = 1000;

function setup(bytes: number, divides = false) {
  const asked: string[] = [];
  const measure = async ({ width, height }: ImageSize, inTiles: boolean): Promise<number> => {
    asked.push(`${width} x ${height}${inTiles ? " in tiles" : ""}`);
    return width * height * (inTiles ? BYTES_PER_PIXEL : 4 * BYTES_PER_PIXEL);
  };
  const room = { bytes, of: "Vulkan0", divides };
  return {
    asked,
    choose: (width: number, height: number) => decodesInTiles({ width, height }, room, measure),
  };
}

test("an image is decoded in one piece where that fits, else in tiles; above a million pixels always", async () => {
  const { choose, asked } = setup(4e9);
  expect(await choose(1000, 1000)).toBe(false);
  expect(await choose(1024, 1024)).toBe(true);
  expect(await choose(1280, 1024)).toBe(true);
  expect(asked).toEqual(["1000 x 1000", "1024 x 1024", "1024 x 1024 in tiles", "1280 x 1024 in tiles"]);
});

test("an image that does not fit is refused with the largest of its shape that does", async () => {
  const { choose } = setup(0.5e9);
  const error = await rejection(choose(1024, 768));
  expect(error).toMatchObject({ code: "unsupported_value", param: "width" });
  const message = reasonOf(error);
  const [, width = "", height = ""] = /send at most (\d+) x (\d+)$/.exec(message) ?? [];
  expect(message).toStartWith(
    "width x height: an image of 1024 x 768 needs 786.4 MB of buffers, and 500.0 MB of Vulkan0 are free; send",
  );
  expect([Number(width) % 64, Number(height) % 64]).toEqual([0, 0]);
  const bytes = Number(width) * Number(height) * BYTES_PER_PIXEL;
  expect([bytes <= 0.5e9, bytes > 0.3e9]).toEqual([true, true]);
  expect(await choose(Number(width), Number(height))).toBe(true);
  expect(reasonOf(await rejection(setup(-1).choose(64, 64)))).toEndWith("unload others");
});

test("where the library divides its graphs, nothing is refused", async () => {
  const { choose, asked } = setup(1, true);
  expect(await choose(512, 512)).toBe(true);
  expect(asked).toEqual(["512 x 512"]);
});
