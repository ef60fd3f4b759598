// Process entry: parses the command line, runs one command, exits with its code. The only file that exits.

import { parseArgs } from "./cli/args.ts";
import { outlivesTerminal } from "./cli/hangup.ts";
import { EXIT } from "./cli/invocation.ts";
import { execute } from "./commands/execute.ts";
import { bypassLoopback } from "./config/proxy.ts";
import { StartError } from "./core/start-error.ts";
import { terminalText } from "./core/visible-text.ts";

/** How long an end waits for its output to be read. */
const OUTPUT_WAIT_MS = 2000;

/** Resolves at the first SIGINT, SIGTERM or end of the terminal; a second one ends the process at once. */
function untilSignal(hangup: "ends" | "reloads" = "ends"): Promise<void> {
  return new Promise((resolve) => {
    let asked = false;
    const onSignal = (): void => {
      if (asked) process.exit(EXIT.failure);
      asked = true;
      resolve();
    };
    process.on("SIGINT", onSignal);
    process.on("SIGTERM", onSignal);
    if (hangup === "ends" && !outlivesTerminal()) process.on("SIGHUP", onSignal);
  });
}

const complain = (line: string): void => console.error(terminalText(line));

/** A closed pipe, as of `head`, is not a failure. */
process.stdout.on("error", (error: NodeJS.ErrnoException) => {
  if (error.code === "EPIPE") process.exit(EXIT.ok);
  complain(`svc: the output could not be written (${error.code ?? error.message})`); // a full disk
  process.exit(EXIT.failure);
});

/** As it was: programs that svc starts for the user read NO_PROXY in their own ways. */
const environment = { ...process.env };
bypassLoopback(process.env);

const host = { environment, complain, untilSignal };

/** Runs the command; a reason that the operator can remove is a sentence, not a stack. */
async function run(): Promise<number> {
  try {
    return await execute(parseArgs(process.argv.slice(2)), host);
  } catch (error) {
    if (!(error instanceof StartError)) throw error;
    host.complain(`svc: ${error.message}`);
    return EXIT.failure;
  }
}

/** Ends with a code once the output is written, or cannot be. */
function exit(code: number): void {
  setTimeout(() => process.exit(code), OUTPUT_WAIT_MS); // for a reader that does not read
  process.stdout.write("", () => setImmediate(() => process.exit(code)));
}

void run().then(exit);
