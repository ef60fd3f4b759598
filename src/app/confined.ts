// Sandbox of programs that read a file of other people: no network, system files alone.

import { processEnvironment } from "../config/sources.ts";
import { ownCommand } from "../core/own-command.ts";
import { NO_HOME, userHome } from "../core/user-home.ts";
import { openSandbox, type SandboxOptions } from "../sandbox/sandbox.ts";
import type { Limits, Sandbox } from "../sandbox/types.ts";

/** Throws a sentence where this machine has no such sandbox; `program` begins it. */
export async function openConfined(
  program: string,
  limits: Limits,
  disk?: SandboxOptions["disk"],
): Promise<Sandbox> {
  const sandbox = await openSandbox({
    policy: { mode: "auto", profile: "restricted", network: "none", limits },
    environment: processEnvironment(),
    home: userHome() ?? NO_HOME,
    ownCommand: ownCommand(),
    ...(disk === undefined ? {} : { disk }),
  });
  const { filesystem, network, warnings } = sandbox.effective;
  if (filesystem === "workdir" && network === "none") return sandbox;
  throw new Error(
    `${program} runs in a sandbox only, and this machine has none: ${warnings.join(" ")} Install bubblewrap.`,
  );
}
