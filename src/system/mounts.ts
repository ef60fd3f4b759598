// Options of the file system that a folder is on (Linux).

import { readFileSync, realpathSync } from "node:fs";

/** Whether the folder's file system is mounted noexec; false where that cannot be found out. */
export function isNoexec(folder: string): boolean {
  try {
    return optionsOf(realpathSync(folder), readFileSync("/proc/self/mountinfo", "utf8")).includes("noexec");
  } catch {
    return false;
  }
}

/** Options of the mount that a path is below, by a mountinfo file (proc(5)): of several at one place the last counts. */
export function optionsOf(path: string, mountinfo: string): readonly string[] {
  let longest = -1;
  let options: readonly string[] = [];
  for (const line of mountinfo.split("\n")) {
    const [, , , , place = "", flags = ""] = line.split(" ");
    const folder = place.replaceAll(/\\([0-7]{3})/g, (_all, code: string) =>
      String.fromCharCode(Number.parseInt(code, 8)),
    );
    const isAbove = folder === "/" || path === folder || path.startsWith(`${folder}/`);
    if (folder === "" || !isAbove || folder.length < longest) continue;
    longest = folder.length;
    options = flags.split(",");
  }
  return options;
}
