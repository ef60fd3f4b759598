// Checks commit subjects: `area: imperative subject`.
//
//   bun scripts/commits.ts          your commits that are not on the main branch yet; part of `npm run check`
//   bun scripts/commits.ts FILE     the message in a file; called by scripts/hooks/commit-msg

import { readFileSync } from "node:fs";
import { STYLE } from "./style.ts";

/** Bases to compare with, the first that exists. */
const MAIN_BRANCHES = ["origin/main", "main"];

const SUBJECT = /^[a-z0-9][\w./-]*: \S.*$/;

/** What is wrong with a subject; undefined where nothing is. */
export function subjectProblem(subject: string): string | undefined {
  const { commitSubjectChars: most } = STYLE;
  if (/^(?:fixup|squash|amend)! |^Revert "/.test(subject)) return undefined;
  if (!SUBJECT.test(subject)) return 'is not "area: imperative subject"';
  if (subject.endsWith(".")) return "ends with a full stop";
  return subject.length > most ? `has ${subject.length} characters; at most ${most} are allowed` : undefined;
}

function git(...args: readonly string[]): string | undefined {
  try {
    const { success, stdout } = Bun.spawnSync(["git", ...args], { cwd: import.meta.dir, stderr: "ignore" });
    return success ? stdout.toString().trim() : undefined;
  } catch {
    return undefined; // no git
  }
}

/** Subjects of the configured author's commits that the main branch does not have; none without git, author or main branch. */
function newSubjects(): readonly string[] {
  const base = MAIN_BRANCHES.find((branch) => git("rev-parse", "--verify", "--quiet", branch) !== undefined);
  const author = git("config", "user.email");
  if (base === undefined || author === undefined) return [];
  const subjects =
    git("log", "--no-merges", "--fixed-strings", `--author=<${author}>`, "--format=%s", `${base}..HEAD`) ??
    "";
  return subjects === "" ? [] : subjects.split("\n");
}

if (import.meta.main) {
  const [file] = process.argv.slice(2);
  const subjects = file === undefined ? newSubjects() : [readFileSync(file, "utf8").split("\n")[0] ?? ""];
  for (const subject of subjects) {
    const problem = subjectProblem(subject);
    if (problem === undefined) continue;
    console.error(`commit subject "${subject}" ${problem}. CONTRIBUTING.md has examples.`);
    process.exitCode = 1;
  }
}
