// `svc doctor`: the report, and with --fix the back end of a graphics card whose driver is here.

import { createInterface } from "node:readline/promises";
import { type BackendAdvice, missingBackends } from "../app/backend-advice.ts";
import { runBackend } from "../app/backends.ts";
import { runDoctor } from "../app/system.ts";
import { doctorTable } from "../cli/doctor-table.ts";
import { EXIT, type Invocation } from "../cli/invocation.ts";
import { type CommandHost, failed } from "./host.ts";

/** Reports on the machine. Fails when a check fails, or a back end that was to be installed does not work. */
export async function doctor(
  { json, fix }: Extract<Invocation, { command: "doctor" }>,
  host: CommandHost,
): Promise<number> {
  const hasFixed = fix === undefined || (await installMissing(fix, host));
  const report = await runDoctor(host.options);
  process.stdout.write(`${json ? JSON.stringify(report, null, 2) : doctorTable(report)}\n`);
  return report.ok && hasFixed ? EXIT.ok : EXIT.failure;
}

/** Installs the missing back ends; false when one of them was refused. Output of its steps goes to stderr. */
async function installMissing(fix: "ask" | "unasked", host: CommandHost): Promise<boolean> {
  const missing = missingBackends(host.options.cacheDir);
  if (missing.length === 0) host.complain("There is nothing to install for a graphics card.");
  let isDone = true;
  for (const advice of missing) {
    if (fix === "ask" && !(await isWanted(advice, host))) continue;
    try {
      await runBackend({ action: "install", kind: advice.kind }, { ...host.options, print: host.complain });
    } catch (error) {
      failed(host, error);
      isDone = false;
    }
  }
  return isDone;
}

async function isWanted({ kind, maker }: BackendAdvice, host: CommandHost): Promise<boolean> {
  const offer = `${maker}'s driver is here: install back end ${kind.name} from ${kind.package}?`;
  if (!process.stdin.isTTY) {
    host.complain(`${offer} Without a terminal, svc doctor --fix --yes installs it.`);
    return false;
  }
  const terminal = createInterface({ input: process.stdin, output: process.stderr });
  try {
    return /^y(?:es)?$/i.test((await terminal.question(`${offer} [y/N] `)).trim());
  } finally {
    terminal.close();
  }
}
