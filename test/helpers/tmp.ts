import { chmodSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { atEnd } from "./at-end.ts";

/** A folder that is gone when all tests are done. Private, as the cache folder must be. */
export function tempDir(): string {
  const dir = mkdtempSync(join(tmpdir(), "svc-test-"));
  atEnd(() => rmSync(dir, { recursive: true, force: true }));
  return dir;
}

/** One that other users may enter, as the sessions of a server run by root do. */
export function sharedDir(): string {
  const dir = tempDir();
  chmodSync(dir, 0o755);
  return dir;
}
