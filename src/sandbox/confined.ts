// Sandbox of programs that read a file of other people: no network, system files alone.

import { ownCommand } from "../core/own-command.ts";
import { NO_HOME, userHome } from "../core/user-home.ts";
import { openSandbox, type SandboxOptions } from "./sandbox.ts";
import type { Limits, Sandbox } from "./types.ts";

export interface ConfinedOptions extends Pick<SandboxOptions, "environment" | "disk"> {
  /** How messages call the program. */
  readonly program: string;
  readonly limits: Limits;
}

/** Throws a sentence where this machine has no such sandbox. */
export async function openConfined({
  program,
  limits,
  environment,
  disk,
}: ConfinedOptions): Promise<Sandbox> {
  const sandbox = await openSandbox({
    policy: { mode: "auto", profile: "restricted", network: "none", limits },
    environment,
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
