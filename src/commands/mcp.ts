// `svc mcp login` and `svc mcp logout`.

import { createInterface, type Interface } from "node:readline/promises";
import { signInToMcp, signOutOfMcp } from "../app/mcp.ts";
import { EXIT, type Invocation } from "../cli/invocation.ts";
import type { Loaded } from "../config/resolve.ts";
import { type CommandHost, failed, stoppable } from "./host.ts";

/** Signs in or out at a server of the MCP configuration. */
export async function mcpSignIn(
  { mcp }: Loaded,
  { action, server }: Extract<Invocation, { command: "mcp" }>,
  host: Pick<CommandHost, "complain" | "untilSignal">,
): Promise<number> {
  try {
    if (action === "logout") {
      const isOut = signOutOfMcp(mcp, server);
      console.log(isOut ? `Signed out of ${server}.` : `There was no sign-in at ${server}.`);
      return EXIT.ok;
    }
    const terminal = process.stdin.isTTY ? openTerminal() : undefined;
    try {
      await signInToMcp(mcp, server, {
        show: (page) => host.complain(`Open this page in a browser and sign in:\n\n${page}\n`),
        copied: () => terminal?.question(PASTE) ?? Promise.withResolvers<string>().promise,
        signal: stoppable(host, "it was stopped"),
      });
    } finally {
      terminal?.close();
    }
    console.log(`Signed in to ${server}.`);
    return EXIT.ok;
  } catch (error) {
    return failed(host, error);
  }
}

/** A browser on another machine is led to an address that is not there, and its user copies it. */
const PASTE = "If the browser is on another machine, paste the address that it shows at the end: ";

function openTerminal(): Interface {
  const terminal = createInterface({ input: process.stdin, output: process.stderr });
  return terminal.on("SIGINT", () => process.kill(process.pid, "SIGINT")); // readline takes Ctrl-C for itself
}
