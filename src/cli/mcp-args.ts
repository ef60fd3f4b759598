// The commands of `svc mcp`.

import type { Command } from "commander";
import type { Choose } from "./invocation.ts";
import { flagsOf, withSettings } from "./setting-flags.ts";

/** Adds `svc mcp login | logout`. */
export function addMcpCommands(program: Command, choose: Choose): void {
  const mcp = program.command("mcp").description("Sign in to MCP servers whose tools models may call.");
  for (const [action, description] of [
    ["login", "Sign in to a remote MCP server (OAuth); running svc servers use it at once."],
    ["logout", "Forget the sign-in."],
  ] as const) {
    const command = mcp
      .command(action)
      .description(description)
      .argument("<server>", "id or name of a server in the MCP configuration");
    withSettings(command, ["runtime.mcp_config"]).action((server: string) =>
      choose({ command: "mcp", action, server, flags: flagsOf(command) }),
    );
  }
}
