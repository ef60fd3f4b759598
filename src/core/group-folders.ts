// Folders of this process's control groups, of both versions. Knows none of the values in them.

import { join } from "node:path";
import { textIn } from "./readable.ts";

/** Linux keeps the limits of process groups here. */
const CGROUPS = "/sys/fs/cgroup";

/**
 * The folders that may limit this process: its own group and all above it, whose limits hold for it as well. Inside a container the
 * path of its group may be one of the host's, and the group itself the root. `own`: what /proc/self/cgroup says, cgroups(7).
 */
export function groupFolders(
  version: 1 | 2,
  controller: "memory" | "cpu",
  root: string = CGROUPS,
  own: string = textIn("/proc/self/cgroup"),
): readonly string[] {
  const line =
    version === 2
      ? /^0::\/(.*)$/m
      : new RegExp(String.raw`^\d+:(?:[^:]*,)?${controller}(?:,[^:]*)?:\/(.*)$`, "m");
  const names = (line.exec(own)?.[1] ?? "").split("/").filter((name) => name !== "" && name !== "..");
  const top = version === 2 ? root : join(root, controller);
  return Array.from({ length: names.length + 1 }, (_, depth) => join(top, ...names.slice(0, depth)));
}
