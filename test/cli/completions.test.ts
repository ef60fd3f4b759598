// Completion scripts. Bash runs its own; of the others the text is read, and checked by their shells where there are any.

import { describe, expect, test } from "bun:test";
import { parseArgs } from "../../src/cli/args.ts";
import { ROWS } from "../../src/config/table.ts";

function script(shell: string): string {
  const printed = parseArgs(["completions", shell]);
  if (printed.command !== "print") throw new Error("must print");
  return printed.text;
}

/** What bash offers for the last of these words. */
function bashOffers(...words: readonly string[]): readonly string[] {
  const line = words.map((word) => `'${word}'`).join(" ");
  const program = `${script("bash")}
COMP_WORDS=(${line}); COMP_CWORD=${words.length - 1}
_svc
printf '%s\\n' "\${COMPREPLY[@]}"`;
  const { stdout, stderr, exitCode } = Bun.spawnSync(["bash", "--norc", "-c", program], {
    cwd: import.meta.dir,
  });
  expect([exitCode, stderr.toString()]).toEqual([0, ""]);
  return stdout.toString().trimEnd().split("\n");
}

const HAS_BASH = Bun.which("bash") !== null;

describe.skipIf(!HAS_BASH)("bash", () => {
  test("offers commands, and commands of commands", () => {
    const commands = bashOffers("svc", "");
    for (const name of ["serve", "run", "bench", "tune", "config", "cache", "completions"])
      expect(commands).toContain(name);
    expect(commands).not.toContain("engine");
    expect(bashOffers("svc", "se")).toEqual(["serve"]);
    expect(bashOffers("svc", "cache", "")).toEqual(["list", "delete"]);
    expect(bashOffers("svc", "completions", "")).toEqual(["bash", "zsh", "fish"]);
  });

  test("offers every flag that works, and none of the others", () => {
    const offered = bashOffers("svc", "serve", "--port", "80", "-");
    for (const { flag, status } of ROWS) {
      if (flag !== undefined) expect([flag, offered.includes(flag)]).toEqual([flag, status === "available"]);
    }
    expect(bashOffers("svc", "serve", "--max-s")).toEqual(["--max-seq-len", "--max-seqs"]);
    expect(bashOffers("svc", "login", "--")).toEqual(["--help"]);
  });

  test("offers what a value can be: words, or files", () => {
    expect(bashOffers("svc", "tune", "--profile", "")).toEqual(["quality", "balanced", "fast"]);
    expect(bashOffers("svc", "serve", "--access-log-format", "j")).toEqual(["json"]);
    expect(bashOffers("svc", "serve", "-m", "completions")).toEqual(["completions.test.ts"]);
    expect(bashOffers("svc", "run", "completions")).toEqual(["completions.test.ts"]);
  });
});

test.each(["zsh", "fish"])("%s has all commands and flags, and its shell can read it", (shell) => {
  const text = script(shell);
  for (const word of ["serve", "delete", "completions", "max-seqs", "profile", "quality balanced fast"])
    expect(text).toContain(word);
  if (Bun.which(shell) === null) return;
  const { stderr, exitCode } = Bun.spawnSync([shell, "-n"], { stdin: Buffer.from(text) });
  expect([exitCode, stderr.toString()]).toEqual([0, ""]);
});
