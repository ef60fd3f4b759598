// Tests that need programs which a fresh machine may lack.

import { describe } from "bun:test";

const missing = new Set<string>();

/** `describe`, or a skip that names the missing program once. */
export function describeWith(...programs: readonly string[]): typeof describe {
  const lacked = programs.find((program) => Bun.which(program) === null);
  if (lacked === undefined) return describe;
  if (!missing.has(lacked)) console.warn(`SKIPPED: tests that need ${lacked}, which is not installed`);
  missing.add(lacked);
  return describe.skip;
}
