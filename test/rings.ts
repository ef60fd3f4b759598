// The rings of the test suite: which file belongs to which, and how long each took.
//
//   bun test/rings.ts files RING      the test files of a ring, or of `all`
//   bun test/rings.ts times REPORT    sums the times of a JUnit report by ring
//   bun test/rings.ts failures LOG    what `bun test` printed before each failed test

import { readFileSync } from "node:fs";
import { join } from "node:path";

/** A file belongs to the first ring that one of its prefixes fits. */
const RINGS: readonly (readonly [ring: string, prefixes: readonly string[]])[] = [
  ["ui", ["test/ui/", "test/e2e/ui"]],
  ["e2e", ["test/e2e/", "test/upstreams/"]],
  ["faults", ["test/faults/", "test/soak/"]],
  ["native", ["test/ffi/", "test/templates/", "test/vulkan/", "test/zoo/"]],
  ["unit", ["test/"]],
];

/** Files that take the most time are listed, so many. */
const SLOWEST = 5;

/** Lines of a failure that are repeated, at most: its error, source excerpt and stack. */
const FAILURE_LINES = 60;

function ringOf(file: string): string {
  return RINGS.find(([, prefixes]) => prefixes.some((prefix) => file.startsWith(prefix)))?.[0] ?? "unit";
}

function filesOf(ring: string): readonly string[] {
  const root = join(import.meta.dir, "..");
  const files = [...new Bun.Glob("test/**/*.test.{ts,tsx}").scanSync(root)].sort();
  return files.filter((file) => ring === "all" || ringOf(file) === ring);
}

/** Lines `RING  SECONDS  FILES`, and the slowest files. Times are of files, which run two at a time. */
function timesOf(report: string): readonly string[] {
  const suites = [
    ...report.matchAll(/<testsuite name="(?<name>[^"]+)" file="\k<name>"[^>]* time="(?<secs>[\d.]+)"/g),
  ];
  const times = suites.map(({ groups }) => ({
    file: groups?.["name"] ?? "",
    secs: Number(groups?.["secs"]),
  }));
  const row = (name: string, secs: number, rest: string): string =>
    `${name.padEnd(8)} ${secs.toFixed(1).padStart(7)} s  ${rest}`;
  const rings = [...Map.groupBy(times, ({ file }) => ringOf(file))].map(([ring, files]) =>
    row(
      ring,
      files.reduce((sum, { secs }) => sum + secs, 0),
      `${files.length} files`,
    ),
  );
  const slowest = times.toSorted((a, b) => b.secs - a.secs).slice(0, SLOWEST);
  return [...rings, ...slowest.map(({ file, secs }) => row("", secs, file))];
}

/** The lines before each `(fail)` line, back to the result before it. The summary at the end of a log names failures alone. */
function failuresOf(log: string): readonly string[] {
  const lines = log.split("\n");
  return lines.flatMap((line, at) => {
    if (!line.startsWith("(fail)")) return [];
    const before = lines.slice(0, at);
    const start = before.findLastIndex((other) => /^\((?:pass|fail|skip|todo)\)/.test(other)) + 1;
    return [...before.slice(Math.max(start, at - FAILURE_LINES)), line];
  });
}

const [command, argument = ""] = process.argv.slice(2);
if (command === "files")
  console.log(
    filesOf(argument)
      .map((file) => `./${file}`)
      .join("\n"),
  );
else if (command === "times") console.log(timesOf(readFileSync(argument, "utf8")).join("\n"));
else if (command === "failures") console.log(failuresOf(readFileSync(argument, "utf8")).join("\n"));
else throw new Error("usage: bun test/rings.ts files RING | times REPORT | failures LOG");
