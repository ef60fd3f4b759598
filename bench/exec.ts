// Runs a helper program and waits for its exit. Used for the build steps; servers under measurement are started by servers.ts.

/** Runs a command with its output on stderr, because stdout is for results. Throws on a non-zero exit code. */
export async function exec(command: readonly string[], cwd: string): Promise<void> {
  const child = Bun.spawn([...command], { cwd, stdin: "ignore", stdout: 2, stderr: 2 });
  const code = await child.exited;
  if (code !== 0) throw new Error(`\`${command.join(" ")}\` ended with exit code ${code}`);
}

/** Like `exec`, but returns what the command printed on stdout. */
export async function execText(command: readonly string[], cwd: string): Promise<string> {
  const child = Bun.spawn([...command], { cwd, stdin: "ignore", stdout: "pipe", stderr: 2 });
  const text = await new Response(child.stdout).text();
  const code = await child.exited;
  if (code !== 0) throw new Error(`\`${command.join(" ")}\` ended with exit code ${code}`);
  return text;
}
