// Inputs that are copied to a device behind each other (ffi/kernels/uploads.h), as for CUDA's cards: several sequences draw the same tokens as
// with upstream's copies.

import { describe, expect, test } from "bun:test";
import { draftedOnDevice, installVulkan, IS_SLOW, IS_WANTED } from "./device.ts";

async function drawn(uploads: "all" | "off"): Promise<readonly number[][]> {
  const drafted = await draftedOnDevice({ SVC_UPLOADS: uploads });
  return (drafted?.answers ?? []).map(({ tokens }) => tokens.map(({ token }) => token));
}

describe.skipIf(!IS_WANTED || !IS_SLOW)("inputs that are copied behind each other", () => {
  test("the same tokens are drawn", async () => {
    await installVulkan();
    const given = await drawn("all");
    expect(given.flat().length).toBeGreaterThan(0);
    expect(given).toEqual(await drawn("off"));
  }, 175_000);
});
