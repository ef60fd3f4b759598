// Peers that come as Python packages: installed once in a private environment in bench/.cache, served by peer-server.py.

import { existsSync, rmSync } from "node:fs";
import { join } from "node:path";
import { exec } from "./exec.ts";
import { CACHE, ROOT } from "./peer.ts";

/** Packages of each peer. */
const WHEELS: Readonly<Record<string, readonly string[]>> = {
  mistralrs: ["mistralrs"],
  openvino: ["openvino-genai"],
};

/** Where the environment of a peer lies. */
function environmentOf(name: string): string {
  return join(CACHE, `venv-${name}`);
}

/** The command of a peer of WHEELS as --peer would name it (see commandOf in servers.ts); undefined for other names. */
export function wheelCommand(name: string): string | undefined {
  if (!Object.hasOwn(WHEELS, name)) return undefined;
  const script = join(import.meta.dir, "peer-server.py");
  return `'${environmentOf(name)}/bin/python' '${script}' ${name} '{model}' {port} {threads} {streams} {context}`;
}

/** Installs the packages of those of the peers that are in WHEELS, unless they are there. Needs python3 with venv. */
export async function ensureWheels(names: Iterable<string>): Promise<void> {
  for (const name of names) {
    const packages = WHEELS[name];
    const folder = environmentOf(name);
    const stamp = join(folder, "installed");
    if (packages === undefined || existsSync(stamp)) continue;
    console.error(`bench: installing ${packages.join(", ")}, once`);
    rmSync(folder, { recursive: true, force: true });
    await exec(["python3", "-m", "venv", folder], ROOT);
    const quiet = ["--quiet", "--disable-pip-version-check"];
    await exec([join(folder, "bin/python"), "-m", "pip", "install", ...quiet, ...packages], ROOT);
    await Bun.write(stamp, "");
  }
}
