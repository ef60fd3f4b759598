import { afterAll } from "bun:test";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

/** A folder that is gone when the file's tests are done. Private, as the cache folder must be. */
export function tempDir(): string {
  const dir = mkdtempSync(join(tmpdir(), "svc-test-"));
  afterAll(() => rmSync(dir, { recursive: true, force: true }));
  return dir;
}
