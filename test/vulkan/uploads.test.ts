// Inputs that are copied to a device behind each other (ffi/kernels/uploads.h), as for CUDA's cards: several sequences draw the same tokens as
// with upstream's copies. The switch is read once, so processes of their own answer.

import { describe, expect, test } from "bun:test";
import { join } from "node:path";
import { newFolder } from "../helpers/binary.ts";
import type { SubjectReport } from "../zoo/report.ts";
import { installVulkan, IS_SLOW, IS_WANTED, OPTIONS } from "./device.ts";

const SUBJECT = join(import.meta.dir, "../zoo/subject.ts");

async function drawn(uploads: "all" | "off"): Promise<readonly number[][]> {
  const backends = join(OPTIONS.cache, "svc");
  const more = { SVC_TEST_BACKENDS: backends, SVC_UPLOADS: uploads, NODE_ENV: "" }; // not a test runner
  const command = [process.execPath, SUBJECT, "llama", newFolder(), "drafted"];
  const env = { ...process.env, ...OPTIONS.env, ...more };
  const child = Bun.spawn(command, { env, stdout: "pipe", stderr: "pipe" });
  const [out, err] = await Promise.all([
    new Response(child.stdout).text(),
    new Response(child.stderr).text(),
    child.exited,
  ]);
  expect([child.exitCode, err]).toEqual([0, ""]);
  const { scenarios } = JSON.parse(out) as SubjectReport; // typed where it is written
  return (scenarios.drafted?.answers ?? []).map(({ tokens }) => tokens.map(({ token }) => token));
}

describe.skipIf(!IS_WANTED || !IS_SLOW)("inputs that are copied behind each other", () => {
  test("the same tokens are drawn", async () => {
    await installVulkan();
    const given = await drawn("all");
    expect(given.flat().length).toBeGreaterThan(0);
    expect(given).toEqual(await drawn("off"));
  }, 175_000);
});
