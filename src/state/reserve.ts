// Room on the disk of a state file that is kept for deletions: SQLite writes what it deletes to its log first, which a full disk would
// refuse. A file of that size is given up when it is needed, and written again once there is room.

import { randomBytes } from "node:crypto";
import { rmSync, statSync, writeFileSync } from "node:fs";
import { codeOf } from "../core/reason.ts";

/** Size of the file: pages of the log for some hundred deletions. */
const RESERVE_BYTES = 1024 * 1024;

const FULL = /^(?:SQLITE_FULL|SQLITE_IOERR|ENOSPC|EDQUOT)/;

export interface Reserve {
  /** Does something that frees room; with the room of the reserve if the disk is full. */
  freeing<R>(action: () => R): R;
  /** Sets the room aside again, where there is some. */
  restore(): void;
}

/** The reserve in a file. */
export function reserveAt(path: string): Reserve {
  const restore = (): void => {
    if (statSync(path, { throwIfNoEntry: false })?.size === RESERVE_BYTES) return;
    try {
      // Random, so that a file system which compresses has to keep it.
      writeFileSync(path, randomBytes(RESERVE_BYTES), { mode: 0o600, flush: true });
    } catch {
      rmSync(path, { force: true }); // later
    }
  };
  restore();
  return {
    freeing: (action) => {
      try {
        return action();
      } catch (error) {
        if (!FULL.test(codeOf(error))) throw error;
        rmSync(path, { force: true });
        return action();
      }
    },
    restore,
  };
}
