// Tests that need a program which a fresh machine may lack.

import { describe } from "bun:test";

const missing = new Set<string>();

/** `describe`, or a skip that names the missing program once. */
export function describeWith(program: string): typeof describe {
  if (Bun.which(program) !== null) return describe;
  if (!missing.has(program)) console.warn(`SKIPPED: tests that need ${program}, which is not installed`);
  missing.add(program);
  return describe.skip;
}
