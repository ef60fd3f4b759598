// MCP servers: those of the server's configuration, and those that were added in this page. The server keeps them.

import { signal } from "@preact/signals";
import type { PageMcpRequest, PageMcpServer } from "../../src/core/page-mcp.ts";
import { send, sendForJson } from "../api/client.ts";
import { notifyOf } from "./toasts.ts";

export const mcpServers = signal<readonly PageMcpServer[]>([]);
/** The server's own tools that are switched on: `code_execution`, `shell`, `web_search`. */
export const serverTools = signal<ReadonlySet<string>>(new Set());
/** Whether the server lets this page add some. */
export const canAddMcp = signal(false);

interface McpList {
  readonly can_add: boolean;
  readonly servers: readonly PageMcpServer[];
  readonly tools?: readonly string[];
}

/** Loads the list. A server that cannot be reached reports that elsewhere. */
export async function loadMcp(): Promise<void> {
  try {
    const found = await sendForJson<McpList>("ui/mcp");
    serverTools.value = new Set(found.tools);
    mcpServers.value = found.servers;
    canAddMcp.value = found.can_add;
  } catch {
    // loading the models fails too and reports the error
  }
}

/** Adds a server, which the server of this page then connects to. Throws ApiError. */
export async function addMcp(server: PageMcpRequest): Promise<void> {
  const added = await sendForJson<PageMcpServer>("ui/mcp", { method: "POST", body: server });
  mcpServers.value = [...mcpServers.value, added];
}

/** Gives a server another token. Throws ApiError. */
export async function setMcpToken(id: string, token: string): Promise<void> {
  await send(`ui/mcp/${id}/token`, { method: "PUT", body: { bearer_token: token } });
  await loadMcp();
}

/** The last lines that a server or svc wrote about it. Throws ApiError. */
export async function mcpLog(id: string): Promise<string> {
  const { lines } = await sendForJson<{ readonly lines: readonly string[] }>(
    `ui/mcp/${encodeURIComponent(id)}/log`,
  );
  return lines.join("\n");
}

export async function removeMcp(id: string): Promise<void> {
  await notifyOf(async () => {
    await send(`ui/mcp/${id}`, { method: "DELETE" });
    await loadMcp();
  });
}
