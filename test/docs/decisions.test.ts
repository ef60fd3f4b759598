// The decisions in docs/decisions: one format, an index that lists each of them with its status, and paths that exist.

import { expect, test } from "bun:test";
import { execFileSync } from "node:child_process";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";

const ROOT = join(import.meta.dir, "../..");
const FOLDER = "docs/decisions";
const PARTS = /^\*\*(?:Context\.|Decision\.|Rejected\.|Consequences\.|Revisit when)\*\* /gm;
const ORDER = /^Context\.,Decision\.,(?:Rejected\.,)?(?:Consequences\.,)?Revisit when$/;
const CHARS_MAX = 1_800;
const STATUS = /^Status: (?:accepted|(?:superseded|amended) by (\d{3}(?:, \d{3})*))$/;
/** Paths below the folders of the root; source files in backticks count as paths, so that they are named in full. */
const PATH =
  /(?<![\w./@-])(?:bench|demo-model|docs|ffi|prebuilt|scripts|src|test|ui)\/[\w./-]*\w|(?<=`)[\w./-]+\.(?:ts|tsx|cpp|h|rs|patch)(?=`)/g;
/** `decision 001`, `docs/decisions/001`, and a link to its file. */
const REFERENCE = /\b[Dd]ecisions?(?: |\/)\[?(\d{3})(?!\d)/g;
const LINK = /\]\((?!http)([^)#]+)/g;

interface Decision {
  readonly name: string;
  readonly number: string;
  readonly text: string;
  readonly title: string;
  readonly status: string;
}

const read = (path: string): string => readFileSync(join(ROOT, path), "utf8");
const markdownIn = (folder: string): string[] =>
  readdirSync(join(ROOT, folder)).filter((name) => name.endsWith(".md"));

const decisions = markdownIn(FOLDER)
  .filter((name) => name !== "README.md")
  .map((name): Decision => {
    const text = read(`${FOLDER}/${name}`);
    const [title = "", , status = ""] = text.split("\n");
    return { name, number: name.slice(0, 3), text, title, status };
  });
const numbers = new Set(decisions.map(({ number }) => number));

const partsOf = (text: string): string =>
  (text.match(PARTS) ?? []).map((part) => part.trim().replaceAll("*", "")).join();

function formatProblems({ name, number, text, title, status }: Decision): string[] {
  const later = STATUS.exec(status)?.[1]?.split(", ") ?? [];
  const rules: readonly (readonly [boolean, string])[] = [
    [/^\d{3}-[a-z0-9-]+\.md$/.test(name), "is not called NNN-words-of-the-title.md"],
    [title.startsWith(`# ${number} `), `does not begin with "# ${number} Title"`],
    [STATUS.test(status), `third line is not "Status: accepted" or "Status: superseded|amended by NNN"`],
    [later.every((at) => numbers.has(at)), "status names a decision that does not exist"],
    [ORDER.test(partsOf(text)), "parts are not **Context.** **Decision.** … **Revisit when** in their order"],
    [text.length <= CHARS_MAX, `has ${text.length} characters, more than ${CHARS_MAX}`],
  ];
  return rules.filter(([holds]) => !holds).map(([, problem]) => `${name}: ${problem}`);
}

test("every decision has the format of docs/decisions/README.md", () => {
  expect(decisions.length).toBeGreaterThan(40);
  expect(decisions.flatMap(formatProblems)).toEqual([]);
  expect(numbers.size).toBe(decisions.length);
});

test("docs/decisions/README.md lists every decision once, with title and status", () => {
  const lines = decisions.map(({ title, status }) => {
    const note = status === "Status: accepted" ? "" : status.replace("Status:", ",");
    return `- ${title.slice(2)}${note}`;
  });
  const listed = (read(`${FOLDER}/README.md`).match(/^- \[?\d{3} .*$/gm) ?? []).map((line) =>
    line.replace(/\[(.*)\]\(.*\)/, "$1"),
  );
  expect(listed.toSorted()).toEqual(lines.toSorted());
});

test("paths and links in decisions exist", () => {
  const missing = decisions.flatMap(({ name, text }) => {
    const named = [...text.matchAll(PATH)].map(([path]) => path);
    const linked = [...text.matchAll(LINK)].map(([, path = ""]) => `${FOLDER}/${path}`);
    return [...named, ...linked]
      .filter((path) => !existsSync(join(ROOT, path)))
      .map((path) => `${name}: ${path}`);
  });
  expect(missing).toEqual([]);
});

test("decisions that code and documents name exist", () => {
  const files = execFileSync("git", ["ls-files", "*.md", "*.ts", "*.tsx", "*.h", "*.cpp", "*.rs", "*.sh"], {
    cwd: ROOT,
    encoding: "utf8",
  });
  const unknown = files
    .trim()
    .split("\n")
    .filter((path) => existsSync(join(ROOT, path)))
    .flatMap((path) =>
      [...read(path).matchAll(REFERENCE)]
        .filter(([, number = ""]) => !numbers.has(number))
        .map(([, number = ""]) => `${path}: ${number}`),
    );
  expect(unknown).toEqual([]);
});
