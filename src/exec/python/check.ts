// Finds a Python interpreter that runs in the sandbox.

import { delimiter, dirname } from "node:path";
import { jsonIn } from "../../core/json.ts";
import { type Static, Type } from "@sinclair/typebox";
import { Value } from "@sinclair/typebox/value";
import { EXEC_PROBE_MS } from "../limits.ts";
import type { Sandbox, Workdir } from "../../sandbox/types.ts";
import { runToEnd } from "../run-to-end.ts";
import type { PythonProgram } from "./interpreter.ts";

/** Prints the real interpreter behind a launcher such as pyenv's: the sandbox needs its files. */
const WHERE = `
import json, site, sys
print(json.dumps({"path": sys.executable, "prefixes": [sys.prefix, sys.base_prefix, site.getusersitepackages()]}))`;

const Where = Type.Object({ path: Type.String({ minLength: 1 }), prefixes: Type.Array(Type.String()) });

/** Maximum of tried interpreters. */
const PYTHONS_MAX = 8;

const WHAT = `
import importlib.metadata, json, platform
found = {d.metadata["Name"]: d.version for d in importlib.metadata.distributions() if d.metadata["Name"]}
packages = [f"{name}=={found[name]}" for name in sorted(found, key=str.lower)]
print(json.dumps({"version": platform.python_version(), "packages": packages}))`;

const What = Type.Object({ version: Type.String(), packages: Type.Array(Type.String()) });

export interface CheckedPython {
  readonly program: PythonProgram;
  readonly version: string;
  readonly packages: readonly string[];
}

/** No Python runs in the sandbox. The message names the setting and the reason. */
export class NoPythonError extends Error {}

export interface PythonCheck {
  readonly sandbox: Sandbox;
  /** Name or path of the interpreter. */
  readonly python: string;
  /** Search path, as in PATH. */
  readonly searchPath: string;
  /** Receives one sentence where a later interpreter of the search path is used because earlier ones do not run. */
  readonly warn: (line: string) => void;
}

/**
 * First interpreter of that name that runs in the sandbox, where private ones may be unreachable. Throws NoPythonError where none
 * does. Deletes the folder if it is private.
 */
export async function checkPython(
  { sandbox, python, searchPath, warn }: PythonCheck,
  workdir: Workdir,
): Promise<CheckedPython> {
  const failures: string[] = [];
  try {
    for (const found of candidates(python, searchPath)) {
      const checked = await tryOut(sandbox, found, workdir);
      if (typeof checked !== "string") {
        if (failures.length > 0) warn(`${failures.join("; ")}: cells run with ${checked.program.path}.`);
        return checked;
      }
      failures.push(checked);
    }
  } finally {
    await sandbox.removeWorkdir(workdir);
  }
  const why = failures.join("; ") || "the program does not exist";
  throw new NoPythonError(
    `runtime.code_exec_python = "${python}": ${why}. Name another one, or disable code execution.`,
  );
}

/** A path names one program; a name, every program of that name in the search path. */
function candidates(python: string, searchPath: string): readonly string[] {
  const folders = python.includes("/") ? [""] : searchPath.split(delimiter);
  const found = folders.flatMap((folder) => Bun.which(python, { PATH: folder }) ?? []);
  return [...new Set(found)].slice(0, PYTHONS_MAX);
}

/** A working interpreter, or the reason why it does not work, without a full stop. */
async function tryOut(sandbox: Sandbox, found: string, workdir: Workdir): Promise<CheckedPython | string> {
  const where = await located(found);
  if (where === undefined) return `${found} is not a Python interpreter`;
  const program = { path: where.path, readPaths: [dirname(where.path), ...where.prefixes] };
  const run = sandbox.spawn({ argv: [program.path, "-c", WHAT], workdir, readPaths: program.readPaths });
  const { ending, stdout, stderr } = await runToEnd(run, EXEC_PROBE_MS);
  const what = jsonIn(stdout);
  if (Value.Check(What, what)) {
    return { program, version: `Python ${what.version}`, packages: what.packages };
  }
  const reason = stderr.trim().split("\n").at(-1) || `it exited with ${ending.signal ?? ending.code}`;
  return `${program.path} does not run in the sandbox (${reason})`;
}

/** Runs the program outside the sandbox to get the paths of its files. */
async function located(found: string): Promise<Static<typeof Where> | undefined> {
  const child = Bun.spawn([found, "-c", WHERE], {
    cwd: "/",
    stdio: ["ignore", "pipe", "ignore"],
    timeout: EXEC_PROBE_MS,
  });
  const where = jsonIn(await new Response(child.stdout).text());
  return Value.Check(Where, where) ? where : undefined;
}
