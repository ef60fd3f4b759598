// Golden files: the exact bytes of the streams of all dialects. Review a change of them like code.
// SVC_WRITE_GOLDEN=1 rewrites them.

import { expect, test } from "bun:test";
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { supports, DIALECTS } from "../helpers/dialects.ts";
import { type Script, SCRIPTS } from "../helpers/scripts.ts";

const FOLDER = join(import.meta.dir, "../fixtures/golden");
const WRITE = process.env["SVC_WRITE_GOLDEN"] === "1";

const CASES = DIALECTS.flatMap((dialect) =>
  Object.entries<Script>(SCRIPTS)
    .filter(([, { needs }]) => supports(dialect, needs))
    .map(([name, run]) => ({ file: `${dialect.name}-${name}.${dialect.framing}`, dialect, run })),
);

test.each(CASES)("$file", ({ file, dialect, run }) => {
  const path = join(FOLDER, file);
  const stream = dialect.stream(run);
  if (WRITE) {
    mkdirSync(FOLDER, { recursive: true });
    writeFileSync(path, stream);
  }
  expect(existsSync(path)).toBe(true);
  expect(stream).toBe(readFileSync(path, "utf8"));
});

test("every golden file has a run", () => {
  expect(readdirSync(FOLDER).sort()).toEqual(CASES.map(({ file }) => file).sort());
});
