// Which means of confining tools work here. Each is tried, because what is installed is often forbidden.

import { existsSync, readFileSync } from "node:fs";
import type { EngineHost, Sandbox } from "../core/system.ts";
import { PROBE_MS } from "../core/limits.ts";

type Mechanism = Sandbox["bubblewrap"];

/** The mechanisms; Landlock is asked for by the engine, which may call the kernel. */
export async function probeSandbox(host: EngineHost | undefined): Promise<Sandbox> {
  const [bubblewrap, userNamespaces] = await Promise.all([
    tryCommand(["bwrap", "--unshare-user", "--ro-bind", "/", "/", "true"]),
    tryCommand(["unshare", "--user", "--map-root-user", "true"]),
  ]);
  return {
    bubblewrap,
    user_namespaces: userNamespaces,
    seccomp: hasSeccomp() ? "works" : "absent",
    landlock_abi: host?.landlock_abi ?? null,
  };
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
