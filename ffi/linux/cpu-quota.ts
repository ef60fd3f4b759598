// Processor time that the program's control groups permit.

import { join } from "node:path";
import { groupFolders } from "../../src/core/group-folders.ts";
import { textIn } from "../../src/core/readable.ts";

/** Processors' worth of time, such as 1.5; Infinity without a quota. `root` and `own` as for groupFolders. */
export function cpuQuota(root?: string, own?: string): number {
  const quotas = [
    ...groupFolders(2, "cpu", root, own).map((folder) => {
      const [quota, period] = textIn(join(folder, "cpu.max")).split(" ");
      return share(quota, period);
    }),
    ...groupFolders(1, "cpu", root, own).map((folder) =>
      share(textIn(join(folder, "cpu.cfs_quota_us")), textIn(join(folder, "cpu.cfs_period_us"))),
    ),
  ];
  return Math.min(...quotas);
}

/** Of two numbers in microseconds; no quota is written as "max" or -1. */
function share(quota: string | undefined, period: string | undefined): number {
  const processors = Number(quota) / Number(period);
  return processors > 0 ? processors : Infinity;
}
