// Where control groups (cgroup v2) for tools can be made on this machine. Reads the system's files and changes nothing.

import { accessSync, constants, existsSync } from "node:fs";
import { basename, join } from "node:path";
import { textIn } from "./readable.ts";

const ROOT = "/sys/fs/cgroup";

/** Controllers that caps need. That of processors is used where it is there: their time is counted without it. */
const NEEDED = ["memory", "pids"];

/** `own`: below this process's own group. `scope`: in a scope that systemd is asked for, which takes root. */
export type ControlGroupBase =
  | { readonly kind: "own"; readonly path: string }
  | { readonly kind: "scope" }
  | {
      readonly kind: "none";
      readonly why: string;
      /** The machine has none, rather than none for this process. */
      readonly isAbsent: boolean;
    };

/** The base for groups of tools. Groups that systemd has not delegated are left to it. */
export function controlGroupBase(): ControlGroupBase {
  if (process.platform !== "linux") return none("this system has no control groups", true);
  const path = groupOf("self");
  if (path === undefined) return none("the machine has no cgroup v2 hierarchy at /sys/fs/cgroup", true);
  const missing = NEEDED.filter((name) => !controllersOf(path).includes(name));
  const isRoot = process.getuid?.() === 0;
  const hasSystemd = existsSync("/run/systemd/system");
  if (isRoot && hasSystemd && !isDelegated(path)) return { kind: "scope" };
  if (missing.length > 0) return none(`the server's cgroup lacks the controllers ${missing.join(", ")}`);
  if (isWritable(path)) return { kind: "own", path };
  return none("the server's cgroup is not delegated to its user");
}

/** The folder of a process's group; undefined without cgroup v2 where everybody mounts it. */
export function groupOf(pid: number | "self"): string | undefined {
  if (!existsSync(join(ROOT, "cgroup.controllers"))) return undefined;
  const line = /^0::(\/.*)$/m.exec(textIn(`/proc/${pid}/cgroup`))?.[1];
  return line === undefined ? undefined : join(ROOT, line);
}

/** Controllers that the children of a group can be given. */
export function controllersOf(path: string): readonly string[] {
  return textIn(join(path, "cgroup.controllers")).trim().split(" ");
}

function isWritable(path: string): boolean {
  try {
    for (const name of ["", "cgroup.procs", "cgroup.subtree_control"])
      accessSync(join(path, name), constants.W_OK);
    return true;
  } catch {
    return false;
  }
}

/** Whether systemd leaves a group of the system's to its owner. */
function isDelegated(path: string): boolean {
  const unit = basename(path);
  if (!/\.(service|scope)$/.test(unit)) return false;
  const words = ["systemctl", "show", "--property=Delegate", "--value", unit];
  try {
    return (
      Bun.spawnSync(words, { stdio: ["ignore", "pipe", "ignore"] })
        .stdout.toString()
        .trim() === "yes"
    );
  } catch {
    return false;
  }
}

function none(why: string, isAbsent = false): ControlGroupBase {
  return { kind: "none", why, isAbsent };
}
