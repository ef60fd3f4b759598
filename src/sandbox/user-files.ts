// /etc/passwd of a session: the machine's, plus the session's user with the working directory as home. Programs such as ssh need
// the entry and read settings from its home.

import { ownUid } from "../core/private-folder.ts";
import { rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { textIn } from "../core/readable.ts";
import { temporaryFolder } from "../core/temporary.ts";
import type { Workdir } from "./types.ts";

const NAME = "svc";

/** passwd files of the sessions, in a folder that only the server writes to. */
export class UserFiles {
  private folder: string | undefined;
  private count = 0;
  private readonly paths = new Map<string, string>();

  /** Path of the file of a working directory; the first call writes it. */
  pathOf({ uid = ownUid(), path: home }: Workdir): string {
    const found = this.paths.get(home);
    if (found !== undefined) return found;
    this.folder ??= temporaryFolder("users");
    const path = join(this.folder, String(++this.count));
    writeFileSync(path, passwdText(textIn("/etc/passwd"), uid, home), { mode: 0o644, flag: "wx" });
    this.paths.set(home, path);
    return path;
  }

  /** Deletes the file of a working directory, and the folder after the last one. */
  remove({ path: home }: Workdir): void {
    const path = this.paths.get(home);
    if (path === undefined) return;
    this.paths.delete(home);
    rmSync(path, { force: true });
    if (this.paths.size > 0 || this.folder === undefined) return;
    rmSync(this.folder, { recursive: true, force: true });
    this.folder = undefined;
  }
}

/** passwd(5): name:password:UID:GID:comment:home:shell. An existing user keeps its name and group. */
export function passwdText(machine: string, uid: number, home: string): string {
  const lines = machine.split("\n").filter((line) => line !== "");
  const own = lines.find((line) => line.split(":")[2] === String(uid));
  const [name = NAME, , , gid = String(uid)] = own?.split(":") ?? [];
  const others = lines.filter((line) => line !== own && line.split(":")[0] !== name);
  return [`${name}:x:${uid}:${gid}::${home}:/bin/sh`, ...others, ""].join("\n");
}
