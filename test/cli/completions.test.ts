// Completion scripts, each asked in its own shell; a shell that is not installed is skipped.

import { describe, expect, test } from "bun:test";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { parseArgs } from "../../src/cli/args.ts";
import { ROWS } from "../../src/config/table.ts";
import { tempDir } from "../helpers/tmp.ts";

/** A hub's folder with two models. */
const hub = tempDir();
for (const name of ["models--Qwen--Qwen3-4B-GGUF", "models--acme--tiny-model--v2", "version.txt"])
  mkdirSync(join(hub, name));

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
    env: { ...process.env, HF_HUB_CACHE: hub },
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
    expect(bashOffers("svc", "ser")).toEqual(["serve"]);
    expect(bashOffers("svc", "cache", "")).toEqual(["list", "delete", "purge"]);
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

  test("offers downloaded models where a model is named, and files", () => {
    expect(bashOffers("svc", "show", "ac")).toEqual(["acme/tiny-model--v2"]);
    expect(bashOffers("svc", "rm", "")).toContain("Qwen/Qwen3-4B-GGUF");
    expect(bashOffers("svc", "serve", "-m", "Q")).toEqual(["Qwen/Qwen3-4B-GGUF"]);
    expect(bashOffers("svc", "cache", "delete", "Q")).toEqual(["Qwen/Qwen3-4B-GGUF"]);
  });

  test("offers what a value can be: words, or files", () => {
    expect(bashOffers("svc", "tune", "--profile", "")).toEqual(["quality", "balanced", "fast"]);
    expect(bashOffers("svc", "serve", "--access-log-format", "j")).toEqual(["json"]);
    expect(bashOffers("svc", "serve", "-m", "completions")).toEqual(["completions.test.ts"]);
    expect(bashOffers("svc", "run", "completions")).toEqual(["completions.test.ts"]);
  });
});

/** A shell with its completion begins anew for every question. */
const SLOW_MS = 60_000;

/** What a shell offers at the end of a line, in no order. */
const OFFERS = {
  zsh: (line: string) => offered(["zsh", "-f", join(import.meta.dir, "offers.zsh"), scriptFile("zsh"), line]),
  fish: (line: string) =>
    offered(["fish", "--no-config", "-c", `source ${scriptFile("fish")}; complete -C '${line}' | cut -f 1`]),
} as const;

function offered(command: readonly string[]): readonly string[] {
  const env = { ...process.env, HF_HUB_CACHE: hub };
  const { stdout, stderr, exitCode } = Bun.spawnSync([...command], { cwd: import.meta.dir, env });
  expect([exitCode, stderr.toString()]).toEqual([0, ""]);
  return [...new Set(stdout.toString().trimEnd().split("\n"))].toSorted();
}

const folder = tempDir();

/** The script as a file, for shells to source. */
function scriptFile(shell: string): string {
  const file = join(folder, `svc.${shell}`);
  writeFileSync(file, script(shell));
  return file;
}

for (const shell of ["zsh", "fish"] as const) {
  const isThere = Bun.which(shell) !== null;
  if (!isThere) console.warn(`SKIPPED: completion in ${shell}: there is no ${shell}`);
  const offers = OFFERS[shell];

  describe.skipIf(!isThere)(shell, () => {
    test(
      "offers commands, and commands of commands",
      () => {
        const commands = offers("svc ");
        for (const name of ["serve", "run", "bench", "tune", "config", "cache", "completions"])
          expect(commands).toContain(name);
        expect(commands).not.toContain("engine");
        expect(offers("svc ser")).toEqual(["serve"]);
        expect(offers("svc cache ")).toEqual(["delete", "list", "purge"]);
        expect(offers("svc completions ")).toEqual(["bash", "fish", "zsh"]);
      },
      SLOW_MS,
    );

    test(
      "offers every flag that works, and none of the others",
      () => {
        const flags = offers("svc serve --");
        for (const { flag, status } of ROWS) {
          if (flag !== undefined)
            expect([flag, flags.includes(flag)]).toEqual([flag, status === "available"]);
        }
        expect(offers("svc serve --max-s")).toEqual(["--max-seq-len", "--max-seqs"]);
        expect(offers("svc login --")).toEqual(["--help"]);
      },
      SLOW_MS,
    );

    test(
      "offers what a value can be: words, or files",
      () => {
        expect(offers("svc tune --profile ")).toEqual(["balanced", "fast", "quality"]);
        expect(offers("svc serve --access-log-format j")).toEqual(["json"]);
        expect(offers("svc serve -m completions")).toEqual(["completions.test.ts"]);
        expect(offers("svc serve -m a.gguf -m completions")).toEqual(["completions.test.ts"]);
        expect(offers("svc run completions")).toEqual(["completions.test.ts"]);
        expect(offers("svc rm Q")).toEqual(["Qwen/Qwen3-4B-GGUF"]);
        expect(offers("svc serve -m Q")).toEqual(["Qwen/Qwen3-4B-GGUF"]);
      },
      SLOW_MS,
    );
  });
}
