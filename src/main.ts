// Process entry: parses the command line, runs one command, exits with its code. The only file that exits.

import { parseArgs } from "./cli/args.ts";
import { EXIT } from "./cli/invocation.ts";
import { execute } from "./commands/execute.ts";
import { bypassLoopback } from "./config/proxy.ts";
import { StartError } from "./core/start-error.ts";
import { terminalText } from "./core/visible-text.ts";

/** Resolves at the first SIGINT or SIGTERM; a second one ends the process at once. */
function untilSignal(): Promise<void> {
  return new Promise((resolve) => {
    let asked = false;
    const onSignal = (): void => {
      if (asked) process.exit(EXIT.failure);
      asked = true;
      resolve();
    };
    process.on("SIGINT", onSignal);
    process.on("SIGTERM", onSignal);
  });
}

/** A closed pipe, as of `head`, is not a failure. */
process.stdout.on("error", (error: NodeJS.ErrnoException) => {
  if (error.code !== "EPIPE") throw error;
  process.exit(EXIT.ok);
});

/** As it was: programs that svc starts for the user read NO_PROXY in their own ways. */
const environment = { ...process.env };
bypassLoopback(process.env);

const complain = (line: string): void => console.error(terminalText(line));
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

void run().then((code) => process.exit(code));
