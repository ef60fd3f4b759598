// The image library itself, in a process of its own: its ggml must not meet llama.cpp's, which other tests have loaded.

import { expect, test } from "bun:test";
import { join } from "node:path";
import { tempDir } from "../helpers/tmp.ts";
import { tinyImageModel } from "../helpers/tiny-images.ts";

interface Report {
  readonly selftests: readonly (readonly [number, string])[];
  readonly broken: readonly boolean[];
  readonly unusable: readonly string[];
  readonly family: string;
  readonly outcomes: readonly string[];
  readonly buffers: readonly (readonly [number, number])[];
  readonly isSameAfterCancelling: boolean;
  readonly sizes: readonly (readonly [number, number])[];
}

test("generates, cancels at any time, and fails without ending the process", async () => {
  const script = join(import.meta.dir, "../helpers/image-script.ts");
  const child = Bun.spawn([process.execPath, script, tempDir(), JSON.stringify(tinyImageModel())], {
    stdout: "pipe",
    stderr: "pipe",
  });
  const [out, err] = await Promise.all([
    new Response(child.stdout).text(),
    new Response(child.stderr).text(),
  ]);
  if ((await child.exited) !== 0) throw new Error(err);
  const report = JSON.parse(out) as Report; // what the script below writes
  expect(report.family).toBe("Z-Image");
  expect(report.sizes).toEqual([
    [64, 48],
    [64, 40],
  ]);
  expect(report.outcomes).toContain("cancelled");
  expect(report.outcomes.filter((outcome) => outcome !== "cancelled" && outcome !== "drawn")).toEqual([]);
  expect(report.isSameAfterCancelling).toBe(true);
  const [small = [0], , large = [0], tiled = [0]] = report.buffers;
  for (const [measured, allocated] of report.buffers) expect(measured).toBe(allocated);
  expect([small[0] > 1e6, large[0] > 5 * small[0], tiled[0] < large[0]]).toEqual([true, true, true]);
  expect(report.unusable.every((reason) => reason.length > 5)).toBe(true);
  expect(report.unusable).toHaveLength(3);
  expect(report.selftests.map(([code]) => code)).toEqual([-1, -1, -1]);
  expect(report.selftests[2]?.[1]).toContain("the library gave up");
  expect(report.broken).toEqual([false, true]);
  expect(err).not.toContain("a cat");
});
