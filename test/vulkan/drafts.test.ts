// A draft model on Mesa's software device for several sequences at once. Buffers of the back end grow meanwhile (faults.c says what
// the device makes of that), so a process of its own runs it.

import { describe, expect, test } from "bun:test";
import { join } from "node:path";
import { newFolder } from "../helpers/binary.ts";
import type { SubjectReport } from "../zoo/report.ts";
import { installVulkan, IS_SLOW, IS_WANTED, OPTIONS } from "./device.ts";

const SUBJECT = join(import.meta.dir, "../zoo/subject.ts");

describe.skipIf(!IS_WANTED || !IS_SLOW)("a draft model on a software device", () => {
  test("drafts for several sequences in the same step", async () => {
    await installVulkan();
    const backends = join(OPTIONS.cache, "svc");
    const env = { ...process.env, ...OPTIONS.env, SVC_TEST_BACKENDS: backends, NODE_ENV: "" }; // not a test runner
    const command = [process.execPath, SUBJECT, "llama", newFolder(), "drafted"];
    const child = Bun.spawn(command, { env, stdout: "pipe", stderr: "pipe" });
    const [out, err] = await Promise.all([
      new Response(child.stdout).text(),
      new Response(child.stderr).text(),
      child.exited,
    ]);
    expect([child.exitCode, err]).toEqual([0, ""]);
    const { scenarios } = JSON.parse(out) as SubjectReport; // typed where it is written
    expect(scenarios.drafted?.count).toBeGreaterThan(0);
  }, 170_000);
});
