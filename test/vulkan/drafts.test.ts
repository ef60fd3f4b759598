// A draft model on Mesa's software device for several sequences at once.

import { describe, expect, test } from "bun:test";
import { draftedOnDevice, installVulkan, IS_SLOW, IS_WANTED } from "./device.ts";

describe.skipIf(!IS_WANTED || !IS_SLOW)("a draft model on a software device", () => {
  test("drafts for several sequences in the same step", async () => {
    await installVulkan();
    const drafted = await draftedOnDevice();
    expect(drafted?.count).toBeGreaterThan(0);
  }, 170_000);
});
