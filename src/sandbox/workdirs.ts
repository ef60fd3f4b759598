// Working directories of sandboxed processes and, where the server is root, their users. The folder of a session belongs to a
// dedicated user: the kernel isolates sessions, and the user's processes are the session's.
// UIDs 60707 to 61183 are free in distributions, and exist in containers with 65,536 users. A folder of the settings is used under its owner.

import {
  chownSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  realpathSync,
  statSync,
  unlinkSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { closedFolder } from "../core/closed-folder.ts";
import { defined } from "../core/defined.ts";
import { codeOf } from "../core/reason.ts";
import { besideTemporary, removeTemporary, temporaryFolder } from "../core/temporary.ts";
import { SANDBOX_UID_FIRST, SANDBOX_UIDS } from "./limits.ts";
import { HOMES } from "./environment.ts";
import { removeTree, sweepRemoved } from "./removal.ts";
import type { Workdir } from "./types.ts";

/** Lock on a sandbox user. */
interface Claim {
  stop(): void;
}

/**
 * Locks a user against other servers on this machine, which could read the session's folder and would kill its processes. The lock
 * is an abstract socket, which the kernel frees at exit. Undefined: another server has it.
 */
function claim(uid: number): Claim | undefined {
  if (process.platform !== "linux") return { stop: () => {} }; // no abstract sockets elsewhere
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
  /** Whether processes can get mounts, so that closed folders can be made reachable. */
  readonly canMount: boolean;
}

export class Workdirs {
  private readonly isRoot: boolean;
  /** Parent of private folders. */
  private readonly parent: string;
  private readonly claims = new Map<number, Claim>();

  constructor({ isRoot, canMount }: WorkdirsOptions) {
    this.isRoot = isRoot;
    const own = tmpdir();
    const isOpen = (folder: string): boolean =>
      closedFolder(join(folder, "session"), SANDBOX_UID_FIRST) === undefined;
    this.parent = isRoot && !canMount ? ([own, ...TEMPORARY].find(isOpen) ?? own) : own;
  }

  /** Throws when SANDBOX_UIDS folders exist. */
  create(name: string, parent = this.parent): Workdir {
    void sweepRemoved(parent);
    return this.take(temporaryFolder(name, parent));
  }

  /** Creates a folder in a configured one. Never takes over an existing one. */
  createIn(parent: string, name: string): Workdir {
    mkdirSync(parent, { recursive: true, mode: 0o755 });
    void sweepRemoved(parent);
    for (let n = 1; n <= SAME_NAMES_MAX; n++) {
      const path = join(parent, n === 1 ? name : `${name}-${n}`);
      if (makeFolder(path)) return this.take(path);
    }
    return this.take(mkdtempSync(join(parent, `${name}-`)));
  }

  /**
   * Opens a configured folder. Where the server is root, processes run as the folder's owner; a new or empty folder gets the user
   * that all such folders share.
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

  /** Takes a private folder, whose processes have exited, out of reach and has it removed; ignores others. */
  remove(workdir: Workdir): void {
    if (!workdir.isPrivate) return;
    const isOutOfReach = removeTree(workdir.path, besideTemporary(workdir.path));
    if (isOutOfReach) removeTemporary(workdir.path);
    if (workdir.uid === undefined || !isOutOfReach) return; // the next session of that user could read it
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

  /** The first user is for shared folders. */
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

/** Numbered folders of one name. */
const SAME_NAMES_MAX = 100;

/** False where the name exists. */
function makeFolder(path: string): boolean {
  try {
    mkdirSync(path, { mode: 0o700 });
    return true;
  } catch (error) {
    if (codeOf(error) === "EEXIST") return false;
    throw error;
  }
}

const HOME_NAMES: ReadonlySet<string> = new Set(
  Object.values(HOMES).map((path) => path.split("/")[0] ?? path),
);

/** Creates the folders that the environment names. */
function furnish(workdir: Workdir): Workdir {
  for (const name of Object.values(HOMES)) {
    const steps = name.split("/").map((_, index, parts) => join(workdir.path, ...parts.slice(0, index + 1)));
    for (const step of steps) {
      if (workdir.uid !== undefined) unlinkUnlessFolder(step);
      if (mkdirSync(step, { recursive: true, mode: 0o700 }) === undefined) continue;
      if (workdir.uid !== undefined) chownSync(step, workdir.uid, workdir.uid);
    }
  }
  return workdir;
}

/** Code that ran in the folder earlier may have left a link, which would lead a server that is root elsewhere. */
function unlinkUnlessFolder(path: string): void {
  const state = lstatSync(path, { throwIfNoEntry: false });
  if (state?.isDirectory() === false) unlinkSync(path);
}
