// Finds the interpreter and makes sure that it runs where cells will run.

import { dirname } from "node:path";
import { Type } from "@sinclair/typebox";
import { Value } from "@sinclair/typebox/value";
import { EXEC_PROBE_MS } from "../../core/limits.ts";
import type { Sandbox, Workdir } from "../../sandbox/types.ts";
import { runToEnd } from "../run-to-end.ts";
import type { PythonProgram } from "./interpreter.ts";

/** A launcher such as pyenv's leads to the real one, which is what must be readable in the sandbox. */
const WHERE = `
import json, site, sys
print(json.dumps({"path": sys.executable, "prefixes": [sys.prefix, sys.base_prefix, site.getusersitepackages()]}))`;

const Where = Type.Object({ path: Type.String({ minLength: 1 }), prefixes: Type.Array(Type.String()) });

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

/** Throws when there is no such program, or it does not run. Gives the folder back if it is a private one. */
export async function checkPython(
  { sandbox, python }: { readonly sandbox: Sandbox; readonly python: string },
  workdir: Workdir,
): Promise<CheckedPython> {
  try {
    const found = Bun.which(python);
    if (found === null) throw unusable(python, "there is no such program");
    const where = await located(python, found);
    const program = { path: where.path, readPaths: [dirname(where.path), ...where.prefixes] };
    const run = sandbox.spawn({ argv: [program.path, "-c", WHAT], workdir, readPaths: program.readPaths });
    const { ending, stdout, stderr } = await runToEnd(run, EXEC_PROBE_MS);
    const what = parse(stdout);
    if (!Value.Check(What, what)) {
      const reason = stderr.trim().split("\n").at(-1) || `it ended with ${ending.signal ?? ending.code}`;
      throw unusable(python, `${program.path} does not run in the sandbox (${reason})`);
    }
    return { program, version: `Python ${what.version}`, packages: what.packages };
  } finally {
    await sandbox.removeWorkdir(workdir);
  }
}

/** Asks the program, outside the sandbox, where its files are. */
async function located(python: string, found: string) {
  const child = Bun.spawn([found, "-c", WHERE], {
    cwd: "/",
    stdio: ["ignore", "pipe", "ignore"],
    timeout: EXEC_PROBE_MS,
  });
  const where = parse(await new Response(child.stdout).text());
  if (!Value.Check(Where, where)) throw unusable(python, `${found} does not answer as Python does`);
  return where;
}

function unusable(python: string, what: string): Error {
  return new Error(
    `runtime.code_exec_python = "${python}": ${what}. Name another one, or switch code execution off.`,
  );
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
