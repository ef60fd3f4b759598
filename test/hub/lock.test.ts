import { expect, test } from "bun:test";
import { existsSync, mkdtempSync, rmSync, utimesSync, writeFileSync } from "node:fs";
import { hostname, tmpdir } from "node:os";
import { join } from "node:path";
import { withLock } from "../../src/hub/lock.ts";

const HOUR_MS = 3_600_000;

/** A lock that age alone does not end. */
function lockOf(holder: string): string {
  const file = join(mkdtempSync(join(tmpdir(), "svc-lock-")), "a.svc-lock");
  writeFileSync(file, holder);
  const later = new Date(Date.now() + HOUR_MS);
  utimesSync(file, later, later);
  return file;
}

test.concurrent("the lock of a process that was killed is taken over", async () => {
  const ended = Bun.spawn(["true"]);
  await ended.exited;
  const file = lockOf(`${hostname()} ${ended.pid}`);
  expect(await withLock(file, async () => existsSync(file))).toBe(true);
  expect(existsSync(file)).toBe(false);
});

for (const [title, holder] of [
  ["a running process", `${hostname()} ${process.pid}`],
  ["another machine", `other-${hostname()} 1`],
  ["a process that has not yet written its name", ""],
] as const)
  test.concurrent(`that of ${title} is waited for`, async () => {
    const file = lockOf(holder);
    const given = new AbortController();
    let waits = 0;
    const work = withLock(file, async () => "work", { onWait: () => waits++, signal: given.signal });
    given.abort(new Error("enough"));
    expect(work).rejects.toThrow("enough");
    await work.catch(() => undefined);
    expect([waits, existsSync(file)]).toEqual([1, true]);
    rmSync(file);
  });
