// Users that sessions work as, where the server is root.

import { expect, test } from "bun:test";
import { Workdirs } from "../../src/sandbox/workdirs.ts";

const AS_ROOT = { isRoot: true, canMount: true };

test.skipIf(process.platform !== "linux" || process.getuid?.() !== 0)(
  "two servers on one machine never give the same user to two sessions, and one that was given back is free again",
  () => {
    const servers = [new Workdirs(AS_ROOT), new Workdirs(AS_ROOT)] as const;
    const dirs = Array.from({ length: 8 }, (_, i) => servers[i % 2 === 0 ? 0 : 1].create("test"));
    const users = dirs.map(({ uid }) => uid);
    expect(new Set(users).size).toBe(dirs.length);
    const [first] = dirs;
    if (first === undefined) return;
    servers[0].remove(first);
    const again = servers[1].create("test");
    expect(users.slice(1)).not.toContain(again.uid);
    for (const [i, dir] of dirs.slice(1).entries()) servers[i % 2 === 0 ? 1 : 0].remove(dir);
    servers[1].remove(again);
  },
);
