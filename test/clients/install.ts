// Brings the clients of the ring into a cache folder of its own. What cannot be had is a reason, not a failure: registries
// may be out of reach.

import { existsSync, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Agent } from "./agents.ts";

/** Longest installation of one client, milliseconds. */
const INSTALL_MS = 300_000;

/** A folder with what was installed, or why there is none. */
export type Installed = { readonly folder: string } | { readonly skipped: string };

/** An agent in a folder of its own. No package of npm may run scripts: none of them needs to. */
export async function installAgent(agent: Agent, cache: string): Promise<Installed> {
  if (agent.from === "PyPI") return installPython(`${agent.package}==${agent.version}`, cache);
  const folder = join(cache, `${agent.package.replaceAll(/[@/]/g, "_")}-${agent.version}`);
  if (existsSync(join(folder, agent.executable))) return { folder };
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, "package.json"), '{"private":true}\n');
  const specs = [`${agent.package}@${agent.version}`, ...(agent.beside ?? [])];
  const quiet = ["--no-audit", "--no-fund", "--ignore-scripts", "--loglevel=error"];
  const why = await failureOf(["npm", "install", ...quiet, ...specs], folder);
  if (why !== undefined) return { skipped: why };
  if (existsSync(join(folder, agent.executable))) return { folder };
  return { skipped: "no executable for this machine" };
}

/** A package of PyPI in an environment of its own: they do not agree on the versions of others. */
export async function installPython(wanted: string, cache: string): Promise<Installed> {
  const folder = join(cache, wanted.replace("==", "-"));
  const done = join(folder, "installed.txt");
  if (existsSync(done)) return { folder };
  mkdirSync(folder, { recursive: true });
  const python = join(folder, "bin/python");
  const steps = [
    ["python3", "-m", "venv", folder],
    // pip takes a quarter of an hour to find versions that go together, uv seconds.
    [python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "uv"],
    [join(folder, "bin/uv"), "pip", "install", "--quiet", "--python", python, wanted],
  ];
  for (const step of steps) {
    const why = await failureOf(step, folder);
    if (why !== undefined) return { skipped: why };
  }
  writeFileSync(done, wanted);
  return { folder };
}

/** Why a command did not succeed, in one line. */
async function failureOf(command: readonly string[], cwd: string): Promise<string | undefined> {
  try {
    const child = Bun.spawn([...command], {
      cwd,
      stdin: "ignore",
      stdout: "ignore",
      stderr: "pipe",
      timeout: INSTALL_MS,
    });
    const [errors, code] = await Promise.all([new Response(child.stderr).text(), child.exited]);
    if (code === 0) return undefined;
    return errors.trim().split("\n").at(-1)?.slice(0, 120) ?? `exit code ${code}`;
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
}
