// `svc launch`.

import { Argument, type Command } from "commander";
import { CLIENTS } from "../clients/clients.ts";
import { defined } from "../core/defined.ts";
import type { Choose } from "./invocation.ts";
import { SERVER_FLAGS } from "./server-client.ts";
import { flagsOf, MODEL_ID, withSettings } from "./setting-flags.ts";

/** What `svc launch` does with a client: starts it, too, writes or prints its configuration, or takes that back. */
export type LaunchAction = "start" | "write" | "print" | "remove";

export interface LaunchCommand {
  readonly command: "launch";
  /** Absent: lists the clients. */
  readonly client?: string;
  readonly action: LaunchAction;
  readonly model?: string;
  readonly url?: string;
  /** For the program. */
  readonly args: readonly string[];
}

interface LaunchOptions {
  readonly model?: string;
  readonly url?: string;
  readonly start: boolean;
  readonly print: boolean;
  readonly remove: boolean;
}

const EXAMPLES = `
Examples:
  svc launch claude
  svc launch codex -m qwen3-4b -- exec "Explain this project."
  svc launch opencode --remove`;

/** Adds `launch`. */
export function addLaunchCommand(program: Command, choose: Choose): void {
  const launch = program
    .command("launch")
    .description("Connect a coding agent or an editor with a running server, and start it.")
    .addArgument(new Argument("[client]", "the program").choices(CLIENTS.map(({ id }) => id)))
    .argument("[args...]", "arguments for it, after --")
    .option("-m, --model <model>", "the model (default: that of the server)")
    .option("--url <url>", "address of the server, in place of --host and --port")
    .option("--no-start", "write its configuration only")
    .option("--print", "print its configuration only", false)
    .option("--remove", "take svc out of its configuration", false);
  withSettings(launch, SERVER_FLAGS)
    .addHelpText("after", EXAMPLES)
    .action((client: string | undefined, args: readonly string[], options: LaunchOptions) => {
      const { model, url, start, print, remove } = options;
      const action = remove ? "remove" : print ? "print" : start ? "start" : "write";
      const { [MODEL_ID]: _, ...flags } = flagsOf(launch); // the server's model, not one of this machine
      choose({ command: "launch", action, args, ...defined({ client, model, url }), flags });
    });
}
