// What processors get that are not this one: the tests of the patched kernels once more, with each variant of the library
// that this processor can run as well. Without it they would only be tested on the machines they are made for.

import { expect, test } from "bun:test";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { tempDir } from "../helpers/tmp.ts";

const TESTS = ["packed-weights", "parity", "attention", "copier"];
/** Without AVX2 products and attention are upstream's: types and shapes are then all there is to test. */
const TESTS_OF_UPSTREAM = TESTS.slice(0, 1);

/** Variants and what each needs, in the words of /proc/cpuinfo; one for each way the kernels are written. */
const VARIANTS = {
  x64: "sse2",
  haswell: "avx2",
  alderlake: "avx_vnni",
  skylakex: "avx512bw",
};

const CPUINFO = "/proc/cpuinfo";
const flags = new Set(
  existsSync(CPUINFO) ? /^flags\s*:(.*)$/m.exec(readFileSync(CPUINFO, "utf8"))?.[1]?.split(" ") : [],
);

/** The quantizer is the same for all of them. */
const quantized = process.env.SVC_TEST_QUANTIZED ?? tempDir();

for (const [variant, flag] of Object.entries(VARIANTS))
  test.skipIf(!flags.has(flag))(
    variant,
    async () => {
      const names = variant === "x64" ? TESTS_OF_UPSTREAM : TESTS;
      const files = names.map((name) => join(import.meta.dir, `${name}.test.ts`));
      const child = Bun.spawn([process.execPath, "test", "--timeout", "60000", ...files], {
        env: { ...process.env, SVC_TEST_CPU: variant, SVC_TEST_QUANTIZED: quantized },
        stdout: "ignore",
        stderr: "pipe",
      });
      const [output, code] = await Promise.all([new Response(child.stderr).text(), child.exited]);
      expect({ code, output: code === 0 ? "" : output }).toEqual({ code: 0, output: "" });
    },
    300_000,
  );
