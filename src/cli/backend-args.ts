// The commands of `svc backend`.

import { Argument, type Command } from "commander";
import { assert } from "../core/assert.ts";
import { BACKENDS, type BackendKind } from "../backends/catalog.ts";
import { defined } from "../core/defined.ts";
import type { Choose } from "./invocation.ts";

/** Adds `svc backend list | install | remove | test`. */
export function addBackendCommands(program: Command, choose: Choose): void {
  const backend = program
    .command("backend")
    .description("Add or remove compute back ends for graphics cards.");
  const name = (): Argument =>
    new Argument("<name>", "the back end").choices(BACKENDS.map((kind) => kind.name));
  backend
    .command("list")
    .description("List back ends and say which are installed.")
    .action(() => choose({ command: "backend", action: "list" }));
  backend
    .command("install")
    .description("Download a back end from a signed release or npm, try it, and install it.")
    .addArgument(name())
    .option(
      "--from <path>",
      "the back end's library, or a folder with libraries for several cards, instead of a download",
    )
    .option(
      "--release <address>",
      "cuda: signed release, an address or a folder, that has libraries for several cards (default: where install.sh was from)",
    )
    .option(
      "--index <url>",
      "Python package index for the vendor's run-time libraries that the system lacks (default: PIP_INDEX_URL)",
    )
    .action((chosen: string, { from, release, index }: { from?: string; release?: string; index?: string }) =>
      choose({
        command: "backend",
        action: "install",
        kind: kindOf(chosen),
        ...defined({ from, release, index }),
      }),
    );
  for (const [action, description] of [
    ["remove", "Remove a back end. Running engines keep it until they end."],
    ["test", "Answer one question on a back end's devices and on the CPU."],
  ] as const)
    backend
      .command(action)
      .description(description)
      .addArgument(name())
      .action((chosen: string) => choose({ command: "backend", action, kind: kindOf(chosen) }));
}

/** commander has checked the name. */
function kindOf(name: string): BackendKind {
  const kind = BACKENDS.find((candidate) => candidate.name === name);
  assert(kind !== undefined, "the choices are the catalog's names");
  return kind;
}
