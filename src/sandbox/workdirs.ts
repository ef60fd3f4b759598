// Folders that confined processes work in and, where the server is root, the users they work as. A folder of one session
// belongs to a user of its own, whom nothing else on the machine runs as: then the kernel itself keeps sessions apart,
// and a count of that user's processes is a count of the session's.

import { chownSync, existsSync, mkdirSync, mkdtempSync, readdirSync, realpathSync, statSync } from "node:fs";
import { rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { closedFolder } from "../core/closed-folder.ts";
import { defined } from "../core/defined.ts";
import { SANDBOX_UID_FIRST, SANDBOX_UIDS } from "./limits.ts";
import { HOMES } from "./environment.ts";
import type { Workdir } from "./types.ts";

/** Held as long as a user is ours. */
interface Claim {
  stop(): void;
}

/**
 * Makes sure that no other server on this machine takes the same user for one of its sessions: both could read the other's
 * folder, and would kill its processes. The name of a socket is taken by one process at a time, and free once it is gone.
 * undefined: somebody else has it.
 */
function claim(uid: number): Claim | undefined {
  if (process.platform !== "linux") return { stop: () => {} }; // no such names elsewhere
  try {
    const listener = Bun.listen({ unix: `\0svc-sandbox-${uid}`, socket: { data: () => undefined } });
    listener.unref();
    return { stop: () => listener.stop(true) };
  } catch {
    return undefined;
  }
}

/** Temporary folders of the system, after the one that the environment names. */
const TEMPORARY = ["/var/tmp", "/tmp"];

export interface WorkdirsOptions {
  /** Whether the server is root, so that processes must run as another user. */
  readonly isRoot: boolean;
  /** Whether that user can work in folders that are closed to it, because processes can be given mounts. */
  readonly canMount: boolean;
}

export class Workdirs {
  private readonly isRoot: boolean;
  /** Private folders are made here. */
  private readonly parent: string;
  private readonly claims = new Map<number, Claim>();

  constructor({ isRoot, canMount }: WorkdirsOptions) {
    this.isRoot = isRoot;
    const own = tmpdir();
    const isOpen = (folder: string): boolean =>
      closedFolder(join(folder, "session"), SANDBOX_UID_FIRST) === undefined;
    this.parent = isRoot && !canMount ? ([own, ...TEMPORARY].find(isOpen) ?? own) : own;
  }

  /** Throws when there are SANDBOX_UIDS of them already. */
  create(prefix: string): Workdir {
    return this.take(mkdtempSync(join(this.parent, prefix)));
  }

  /** Makes a folder in a folder of the user's. One that is there already is not ours to give away or to delete. */
  createIn(parent: string, name: string): Workdir {
    mkdirSync(parent, { recursive: true, mode: 0o755 });
    for (let n = 1; n <= SAME_NAMES_MAX; n++) {
      const path = join(parent, n === 1 ? name : `${name}-${n}`);
      if (makeFolder(path)) return this.take(path);
    }
    return this.take(mkdtempSync(join(parent, `${name}-`)));
  }

  /**
   * A folder that is the user's own. Where the server is root, processes run as the folder's owner, or as the one user
   * that all such folders share when it is new or empty.
   */
  open(folder: string): Workdir {
    mkdirSync(folder, { recursive: true, mode: 0o755 });
    const path = realpathSync(folder);
    if (!this.isRoot) return furnish({ path, isPrivate: false });
    const { uid: owner } = statSync(path);
    if (owner !== 0) return furnish({ path, isPrivate: false, uid: owner });
    if (readdirSync(path).some((name) => !HOME_NAMES.has(name))) {
      throw new Error(
        `${folder} belongs to root and is not empty, but tools do not run as root: give it to another user with chown`,
      );
    }
    chownSync(path, SANDBOX_UID_FIRST, SANDBOX_UID_FIRST);
    return furnish({ path, isPrivate: false, uid: SANDBOX_UID_FIRST });
  }

  /** For a private folder whose processes have ended; nothing for any other. */
  async remove(workdir: Workdir): Promise<void> {
    if (!workdir.isPrivate) return;
    await removeTree(workdir.path);
    if (workdir.uid === undefined) return;
    this.claims.get(workdir.uid)?.stop();
    this.claims.delete(workdir.uid);
  }

  private take(made: string): Workdir {
    const path = realpathSync(made);
    const uid = this.isRoot ? this.freeUid() : undefined;
    const workdir = furnish({ path, isPrivate: true, ...defined({ uid }) });
    if (uid !== undefined) chownSync(path, uid, uid);
    return workdir;
  }

  /** The first one is for folders that sessions share. */
  private freeUid(): number {
    for (let uid = SANDBOX_UID_FIRST + 1; uid < SANDBOX_UID_FIRST + SANDBOX_UIDS; uid++) {
      const mine = this.claims.has(uid) ? undefined : claim(uid);
      if (mine === undefined) continue;
      this.claims.set(uid, mine);
      return uid;
    }
    throw new Error(`more than ${SANDBOX_UIDS - 1} sessions use tools at the same time`);
  }
}

/** Folders of one name that are told apart by a number. */
const SAME_NAMES_MAX = 100;

/** False where something of that name is there. */
function makeFolder(path: string): boolean {
  try {
    mkdirSync(path, { mode: 0o700 });
    return true;
  } catch (error) {
    if (error instanceof Error && "code" in error && error.code === "EEXIST") return false;
    throw error;
  }
}

const HOME_NAMES: ReadonlySet<string> = new Set(
  Object.values(HOMES).map((path) => path.split("/")[0] ?? path),
);

/** Makes the folders that the environment names. */
function furnish(workdir: Workdir): Workdir {
  for (const name of Object.values(HOMES)) {
    const steps = name.split("/").map((_, index, parts) => join(workdir.path, ...parts.slice(0, index + 1)));
    for (const step of steps) {
      if (mkdirSync(step, { recursive: true, mode: 0o700 }) === undefined) continue;
      if (workdir.uid !== undefined) chownSync(step, workdir.uid, workdir.uid);
    }
  }
  return workdir;
}

/** Deletes a tree that was made by somebody who may have wanted it to stay: without rights, or too deep for a path. */
export async function removeTree(path: string): Promise<void> {
  await rm(path, { recursive: true, force: true }).catch(() => {});
  if (!existsSync(path)) return;
  for (const words of [
    ["chmod", "-R", "u+rwx"],
    ["rm", "-rf"],
  ]) {
    await Bun.spawn([...words, "--", path], { stdio: ["ignore", "ignore", "ignore"] }).exited;
  }
}
