// Kills MCP server processes if svc crashes. A shell in its own session reads the registered process groups from a pipe; at
// EOF, which the kernel delivers however this process ends, it kills them.

/** Reads lines "+ GROUP" and "- GROUP". Sends SIGTERM at EOF, SIGKILL one second later. */
const SCRIPT = `
groups=" "
while read -r sign group; do
  case $sign in
    +) groups="$groups$group " ;;
    -) groups="\${groups%% $group *} \${groups#* $group }" ;;
  esac
done
for group in $groups; do kill -s TERM -- "-$group" 2>/dev/null && left=1; done
[ -n "$left" ] && sleep 1
for group in $groups; do kill -s KILL -- "-$group" 2>/dev/null; done
`;

export class OrphanGuard {
  private readonly log: (line: string) => void;
  private shell: ReturnType<typeof startShell> | undefined;

  constructor(log: (line: string) => void) {
    this.log = log;
  }

  /** Registers a process group. */
  add(group: number): void {
    this.writeLine(`+ ${group}`);
  }

  /** Unregisters a process group that has ended: the kernel may reuse its number. */
  remove(group: number): void {
    this.writeLine(`- ${group}`);
  }

  /** Kills the remaining process groups and ends the shell. */
  close(): void {
    void this.shell?.stdin.end();
  }

  private writeLine(line: string): void {
    try {
      this.shell ??= startShell();
      void this.shell.stdin.write(`${line}\n`);
      void this.shell.stdin.flush();
    } catch {
      this.log("/bin/sh was not found: MCP servers keep running if svc is killed");
    }
  }
}

function startShell() {
  return Bun.spawn(["/bin/sh", "-c", SCRIPT], {
    stdin: "pipe",
    stdout: "ignore",
    stderr: "ignore",
    detached: true, // Ctrl-C and signals to svc's process group must not reach it
  });
}
