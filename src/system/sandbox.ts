// Detects the confinement mechanisms that work here. Each is tried, because an installed one is often forbidden.

import { existsSync, readFileSync } from "node:fs";
import type { EngineHost, Sandbox } from "../core/system.ts";
import { controlGroupBase } from "../core/control-groups.ts";
import { LAUNCHER_WORD, type LauncherAbilities, PROBE_WORD } from "../core/launcher.ts";
import { ownCommand } from "../core/own-command.ts";

/** Time that a command which is only tried gets, milliseconds. */
const PROBE_MS = 2_000;

type Mechanism = Sandbox["bubblewrap"];

/** The mechanisms; Landlock is asked for by the engine, which may call the kernel. */
export async function probeSandbox(host: EngineHost | undefined): Promise<Sandbox> {
  const [bubblewrap, userNamespaces, guard] = await Promise.all([
    tryCommand(["bwrap", "--unshare-user", "--ro-bind", "/", "/", "true"]),
    tryCommand(["unshare", "--user", "--map-root-user", "true"]),
    probeGuard(),
  ]);
  return {
    bubblewrap,
    user_namespaces: userNamespaces,
    seccomp: hasSeccomp() ? "works" : "absent",
    network_guard: guard,
    control_groups: probeControlGroups(),
    landlock_abi: host?.landlock_abi ?? null,
  };
}

function probeControlGroups(): Mechanism {
  const base = controlGroupBase();
  if (base.kind !== "none") return "works";
  return base.isAbsent ? "absent" : "fails";
}

/** Whether tools with network "full" can be kept from this machine; the sandbox's launcher finds out. */
async function probeGuard(): Promise<Mechanism> {
  try {
    const words = [...ownCommand(), LAUNCHER_WORD, PROBE_WORD];
    const child = Bun.spawn(words, { stdio: ["ignore", "pipe", "ignore"], timeout: PROBE_MS });
    const abilities = JSON.parse(await new Response(child.stdout).text()) as LauncherAbilities; // it printed them
    return abilities.guards ? "works" : "fails";
  } catch {
    return "absent";
  }
}

async function tryCommand(words: readonly string[]): Promise<Mechanism> {
  try {
    const child = Bun.spawn([...words], { stdio: ["ignore", "ignore", "ignore"], timeout: PROBE_MS });
    return (await child.exited) === 0 ? "works" : "fails";
  } catch {
    return "absent";
  }
}

/** A kernel that has seccomp tells a process's state of it. */
function hasSeccomp(): boolean {
  const status = "/proc/self/status";
  return existsSync(status) && /^Seccomp:/m.test(readFileSync(status, "utf8"));
}
