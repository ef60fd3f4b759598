// Broken and hostile uploads: each is stored or refused with a ServiceError, and nothing is written outside the store.

import { expect, test } from "bun:test";
import fc from "fast-check";
import { mkdirSync, readdirSync, rmSync, statSync } from "node:fs";
import { join } from "node:path";
import { ServiceError } from "../../src/core/error.ts";
import type { SkillUpload } from "../../src/core/skills.ts";
import { SkillStore } from "../../src/skills/store.ts";
import { tempDir } from "../helpers/tmp.ts";
import { type TestEntry, zipOf } from "../helpers/zip.ts";

/** Of each kind; with SVC_SLOW_TESTS=1 several thousand. */
const RUNS = process.env["SVC_SLOW_TESTS"] === "1" ? 4000 : 500;

const HEAD = "---\nname: poems\ndescription: Writes poems.\n---\n";
const VALID = zipOf([
  { name: "poems/SKILL.md", content: HEAD },
  { name: "poems/lib/words.txt", content: "moon June ".repeat(20) },
  { name: "poems/run.sh", content: "echo", mode: 0o100755, method: 0 },
]);

const edit = fc.record({
  at: fc.nat(VALID.length),
  drop: fc.nat(8),
  bytes: fc.oneof(
    fc.uint8Array({ maxLength: 8 }),
    fc.constantFrom(
      ...["PK\u0001\u0002", "PK\u0003\u0004", "PK\u0005\u0006", "../", "/", "\0"].map((s) => Buffer.from(s)),
    ),
  ),
  /** Same length, so that the archive's offsets stay true. */
  inPlace: fc.boolean(),
});

const mutated = fc.array(edit, { minLength: 1, maxLength: 4 }).map((edits): SkillUpload => {
  let bytes: Uint8Array = VALID;
  for (const { at, drop, bytes: inserted, inPlace } of edits) {
    const rest = bytes.subarray(at + (inPlace ? inserted.length : drop));
    bytes = Buffer.concat([bytes.subarray(0, at), inserted, rest]);
  }
  return { files: [{ path: "x.zip", pieces: [new Uint8Array(bytes)] }] };
});

const part = fc.constantFrom(
  "..",
  ".",
  "a",
  "b",
  "SKILL.md",
  "",
  "C:",
  "~",
  "a\\..",
  "..%2f",
  "\u2025",
  "con",
  " ",
);
const path = fc.array(part, { minLength: 1, maxLength: 4 }).map((parts) => parts.join("/"));
const entry: fc.Arbitrary<TestEntry> = fc.record({
  name: path,
  content: fc.constantFrom("x", HEAD),
  mode: fc.constantFrom(0o100644, 0o100644, 0o120777, 0, 0o040755),
});
const named = fc
  .tuple(fc.array(entry, { minLength: 1, maxLength: 5 }), fc.boolean(), fc.boolean())
  .map(([entries, isZip, hasHead]): SkillUpload => {
    const all = hasHead ? [{ name: "SKILL.md", content: HEAD }, ...entries] : entries;
    if (isZip) return { files: [{ path: "x.zip", pieces: [zipOf(all)] }] };
    return {
      files: all.map(({ name, content }) => ({
        path: name,
        pieces: [new Uint8Array(Buffer.from(String(content)))],
      })),
    };
  });

/** All paths under a folder, with what they are. */
function walk(folder: string): readonly string[] {
  return readdirSync(folder, { recursive: true, encoding: "utf8" });
}

test.each([
  ["edited archives", mutated],
  ["names", named],
])(
  `${RUNS} %s`,
  async (_, uploads) => {
    const around = tempDir();
    const folder = join(around, "a", "b", "skills");
    mkdirSync(join(around, "a", "b"), { recursive: true });
    const logged: string[] = [];
    let stored = 0;
    await fc.assert(
      fc.asyncProperty(uploads, async (upload) => {
        const store = new SkillStore({ folder, log: (line) => void logged.push(line) });
        const outcome: unknown = await store.create(upload).catch((error: unknown) => error);
        if (outcome instanceof Error) {
          expect(outcome).toBeInstanceOf(ServiceError);
          expect(outcome).toMatchObject({ code: "invalid_skill_upload" });
        } else stored++;
        for (const [version] of store.list()) {
          const { dir = "", files = [] } = version ?? {};
          expect(
            walk(dir)
              .filter((name) => statSync(join(dir, name)).isFile())
              .toSorted(),
          ).toEqual([...files]);
        }
        const outside = walk(around).filter((name) => !name.startsWith(join("a", "b", "skills")));
        expect(outside.toSorted()).toEqual(["a", join("a", "b")]);
        expect(readdirSync(folder)).toHaveLength(store.list().length); // nothing is left of the way there
        rmSync(folder, { recursive: true });
      }),
      { numRuns: RUNS },
    );
    expect(logged).toEqual([]);
    expect(stored).toBeGreaterThan(RUNS / 100);
    expect(stored).toBeLessThan(RUNS);
  },
  300_000,
);
