// Restarts the service that runs an executable, by its manager: systemd's of the user or of the system, or launchd.

/** What became of the service. */
export type Restart =
  | { readonly type: "restarted"; readonly manager: string }
  | { readonly type: "failed"; readonly reason: string }
  /** No manager runs this executable. */
  | { readonly type: "none" };

const UNIT = "svc.service";

/** Restarts it where it runs. `program`: the executable of the service; `path`: where programs are looked for. */
export async function restartService(program: string, path: string): Promise<Restart> {
  for (const scope of [["--user"], []]) {
    const about = await output(["systemctl", ...scope, "show", "-p", "ActiveState,ExecStart", UNIT], path);
    if (about === undefined || !about.includes("ActiveState=active") || !about.includes(`path=${program} `))
      continue;
    const words = ["systemctl", ...scope, "restart", UNIT];
    const done = await output(words, path);
    if (done !== undefined) return { type: "restarted", manager: words.slice(0, -2).join(" ") };
    return { type: "failed", reason: `${words.join(" ")} failed; see: journalctl ${scope.join(" ")} -u svc` };
  }
  return process.platform === "darwin" ? restartAgent(program, path) : { type: "none" };
}

async function restartAgent(program: string, path: string): Promise<Restart> {
  const name = `gui/${process.getuid?.() ?? 0}/svc`;
  const about = await output(["launchctl", "print", name], path);
  if (about === undefined || !about.includes(program)) return { type: "none" };
  const done = await output(["launchctl", "kickstart", "-k", name], path);
  if (done !== undefined) return { type: "restarted", manager: "launchctl" };
  return { type: "failed", reason: `launchctl kickstart failed; see: launchctl print ${name}` };
}

/** What a program prints; undefined where it is missing or fails. */
async function output(words: readonly string[], path: string): Promise<string | undefined> {
  const [name = "", ...rest] = words;
  const program = Bun.which(name, { PATH: path });
  if (program === null) return undefined;
  const child = Bun.spawn([program, ...rest], { stdio: ["ignore", "pipe", "ignore"] });
  const [text, code] = await Promise.all([new Response(child.stdout).text(), child.exited]);
  return code === 0 ? text : undefined;
}
