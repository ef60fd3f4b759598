// The named keys of a server: those of the settings and those of a file, which is read again once it has changed. Throws at the
// start for a file that cannot be used; later on the keys stay as they were until it can be.

import { statSync } from "node:fs";
import { type Account, accountOf, ownerOf } from "../core/account.ts";
import { isMissing, reasonOf } from "../core/reason.ts";
import { readKeyFile } from "./key-file.ts";
import { KEY_FILE_LOOK_MS } from "./limits.ts";

/** A key that is recognized by its digest. */
export interface NamedKey {
  readonly digest: string;
  readonly account: Account;
}

/** The keys of a file. */
export class KeyBook {
  private readonly file: string;
  private readonly log: (line: string) => void;
  private stamp = "";
  private lookedMs = -Infinity;
  private known: readonly NamedKey[] | undefined;

  /** `file` may be absent. Throws a sentence for one that cannot be used. */
  constructor(file: string, log: (line: string) => void) {
    this.file = file;
    this.log = log;
    this.stamp = stampOf(file);
    this.known = keysOf(file);
  }

  /** The keys now; undefined while there was never a file. One that has gone leaves a server without its keys, not an open one. */
  keys(nowMs = performance.now()): readonly NamedKey[] | undefined {
    if (nowMs - this.lookedMs < KEY_FILE_LOOK_MS) return this.known;
    this.lookedMs = nowMs;
    const stamp = stampOf(this.file);
    if (stamp !== this.stamp) this.readAgain(stamp);
    return this.known;
  }

  private readAgain(stamp: string): void {
    this.stamp = stamp;
    try {
      this.known = keysOf(this.file) ?? (this.known === undefined ? undefined : []);
      this.log(`keys: ${this.known?.length ?? 0} in ${this.file}`);
    } catch (error) {
      this.log(`warning: ${reasonOf(error)}; the keys stay as they were`);
    }
  }
}

function keysOf(file: string): readonly NamedKey[] | undefined {
  return readKeyFile(file)?.map(({ digest, id, name, ...fields }) => {
    return { digest, account: accountOf(fields, { owner: ownerOf("id", id), name }) };
  });
}

function stampOf(file: string): string {
  try {
    const { ino, mtimeMs, size } = statSync(file);
    return `${ino} ${mtimeMs} ${size}`;
  } catch (error) {
    return isMissing(error) ? "" : `unreadable: ${reasonOf(error)}`;
  }
}
