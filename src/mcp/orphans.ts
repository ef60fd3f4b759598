// Ends what would outlive us. A shell of its own session holds one end of a pipe: when this process is gone, however it
// went, the shell reads the end of its input and kills the process groups that it was told of.

/** Reads lines "+ GROUP" and "- GROUP". Groups get a second between being asked and being made to end. */
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

  /** A process group that must not outlive us. */
  add(group: number): void {
    this.tell(`+ ${group}`);
  }

  /** It has ended; its number may soon be another's. */
  remove(group: number): void {
    this.tell(`- ${group}`);
  }

  /** Ends what is left, then the shell. */
  close(): void {
    void this.shell?.stdin.end();
  }

  private tell(line: string): void {
    try {
      this.shell ??= startShell();
      void this.shell.stdin.write(`${line}\n`);
      void this.shell.stdin.flush();
    } catch {
      this.log("there is no /bin/sh: MCP servers may outlive this process if it is killed");
    }
  }
}

function startShell() {
  return Bun.spawn(["/bin/sh", "-c", SCRIPT], {
    stdin: "pipe",
    stdout: "ignore",
    stderr: "ignore",
    detached: true, // Ctrl-C and signals to our own group must not reach it
  });
}
