// Processor time that control groups permit, from folders like those of the kernel.

import { expect, test } from "bun:test";
import { mkdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { cpuQuota } from "../../ffi/linux/cpu-quota.ts";
import { tempDir } from "../helpers/tmp.ts";

function groups(files: Readonly<Record<string, string>>): string {
  const root = tempDir();
  for (const [path, content] of Object.entries(files)) {
    mkdirSync(dirname(join(root, path)), { recursive: true });
    writeFileSync(join(root, path), `${content}\n`);
  }
  return root;
}

const V2 = "0::/kubepods/pod/container";
const V1 = "9:cpu,cpuacct:/docker/abc\n4:memory:/docker/abc\n0::/";

test.each<[string, Readonly<Record<string, string>>, string, number]>([
  ["no group", {}, "", Infinity],
  ["version 2 without a quota", { "cpu.max": "max 100000" }, "0::/", Infinity],
  ["version 2", { "cpu.max": "150000 100000" }, "0::/", 1.5],
  [
    "version 2, the smallest of a group and its parents",
    {
      "kubepods/cpu.max": "800000 100000",
      "kubepods/pod/cpu.max": "200000 100000",
      "kubepods/pod/container/cpu.max": "max 100000",
    },
    V2,
    2,
  ],
  [
    "version 1 without a quota",
    { "cpu/cpu.cfs_quota_us": "-1", "cpu/cpu.cfs_period_us": "100000" },
    V1,
    Infinity,
  ],
  [
    "version 1",
    { "cpu/docker/abc/cpu.cfs_quota_us": "50000", "cpu/docker/abc/cpu.cfs_period_us": "20000" },
    V1,
    2.5,
  ],
  // The group's path is the host's; inside, the group is the root.
  [
    "version 1 inside a container",
    { "cpu/cpu.cfs_quota_us": "200000", "cpu/cpu.cfs_period_us": "100000" },
    V1,
    2,
  ],
])("%s", (_what, files, own, quota) => {
  expect(cpuQuota(groups(files), own)).toBe(quota);
});
