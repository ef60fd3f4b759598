// The command line of `svc rpc-worker`.

import { type Command, InvalidArgumentError, Option } from "commander";
import { parseEndpoint } from "../core/endpoint.ts";
import { isSecretSource, SECRET_FORMS } from "../core/secret.ts";
import type { RpcWorkerCommand } from "../rpc/command.ts";
import type { Choose } from "./invocation.ts";

interface WorkerOptions extends Omit<RpcWorkerCommand, "host" | "port"> {
  readonly listen: Pick<RpcWorkerCommand, "host" | "port">;
}

/** Adds `svc rpc-worker`. */
export function addRpcWorkerCommand(program: Command, choose: Choose): void {
  program
    .command("rpc-worker")
    .description("Offer this machine's devices to models that svc serves on another machine.")
    .addOption(
      new Option("--listen <host:port>", "address to listen on")
        .argParser(endpoint)
        .default({ host: "127.0.0.1", port: 50_052 }, "127.0.0.1:50052"),
    )
    .option("--token-source <source>", `token that clients must have: ${SECRET_FORMS}`, tokenSource)
    .option("--tls-cert <file>", "PEM certificate; with it connections are encrypted")
    .option("--tls-key <file>", "PEM key of the certificate")
    .option(
      "--threads <n>",
      "threads of the CPU, if there is no card; default: one for each usable core",
      threads,
    )
    .action(({ listen, ...rest }: WorkerOptions) => choose({ command: "rpc-worker", ...listen, ...rest }));
}

function endpoint(text: string): { readonly host: string; readonly port: number } {
  const found = parseEndpoint(text, 0);
  if (found === undefined) throw new InvalidArgumentError("Give HOST:PORT, such as 0.0.0.0:50052.");
  return found;
}

function tokenSource(text: string): string {
  if (isSecretSource(text)) return text;
  throw new InvalidArgumentError(`Use ${SECRET_FORMS}.`);
}

function threads(text: string): number {
  const value = Number(text);
  if (Number.isInteger(value) && value > 0) return value;
  throw new InvalidArgumentError("Give a whole number of at least 1.");
}
