// Inputs that are copied to a device behind each other (ffi/kernels/uploads.h), as for CUDA's cards: every answer, alone, together, after a
// preemption, and after a shared prefix, is the one with upstream's copies. The switch is read once, so processes of their own answer.

import { describe, expect, test } from "bun:test";
import { join } from "node:path";
import { newFolder } from "../helpers/binary.ts";
import { installVulkan, IS_WANTED, OPTIONS } from "./device.ts";

const SUBJECT = join(import.meta.dir, "../zoo/subject.ts");

async function answers(architecture: string, uploads: "all" | "off"): Promise<unknown> {
  const backends = join(OPTIONS.cache, "svc");
  const more = { SVC_TEST_BACKENDS: backends, SVC_UPLOADS: uploads, NODE_ENV: "" }; // not a test runner
  const command = [process.execPath, SUBJECT, architecture, newFolder()];
  const env = { ...process.env, ...OPTIONS.env, ...more };
  const child = Bun.spawn(command, { env, stdout: "pipe", stderr: "pipe" });
  const [out, err] = await Promise.all([
    new Response(child.stdout).text(),
    new Response(child.stderr).text(),
    child.exited,
  ]);
  expect([child.exitCode, err]).toEqual([0, ""]);
  return JSON.parse(out).scenarios;
}

describe.skipIf(!IS_WANTED)("inputs that are copied behind each other", () => {
  test.each(["llama", "qwen3moe"])(
    "%s answers as before",
    async (architecture) => {
      await installVulkan();
      const given = await answers(architecture, "all");
      expect(Object.keys(given as object)).toContain("together");
      expect(given).toEqual(await answers(architecture, "off"));
    },
    175_000,
  );
});
