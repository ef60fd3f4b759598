// The part of the composition root that is about MCP: the servers whose tools models call, and when conversations may
// count on them.

import type { McpConfig } from "../core/mcp-config.ts";
import type { Conversation, Converse } from "../core/agent.ts";
import { ServiceError } from "../core/error.ts";
import type { ToolCounts } from "../core/model-info.ts";
import { processEnvironment } from "../config/sources.ts";
import { McpServers } from "../mcp/servers.ts";

/** Begins to connect; undefined where no servers are configured. */
export function openMcp(config: McpConfig | undefined, log: (line: string) => void): McpServers | undefined {
  return config === undefined
    ? undefined
    : new McpServers(config, { environment: processEnvironment(), log });
}

/** What model cards tell of tools; undefined where the server has none by itself. */
export function toolCountsOf(
  mcp: McpServers | undefined,
  hasDispatch: boolean,
): (() => ToolCounts) | undefined {
  if (mcp === undefined && !hasDispatch) return undefined;
  return () => {
    const mcpTools = mcp?.tools().length ?? 0;
    return { isAny: hasDispatch || mcpTools > 0, mcpTools, mcpServers: mcp?.connected ?? 0 };
  };
}

/**
 * A Converse whose conversations begin when each server was tried once, so that the first ones see the same tools as
 * later ones. At most `waitingMax` wait, and no longer than connecting may take.
 */
export function afterFirstTry<C extends Conversation>(
  mcp: Pick<McpServers, "tried">,
  waitingMax: number,
  converse: Converse<C>,
): Converse<C> {
  let isTried = false;
  let waiting = 0;
  const tried = mcp.tried().then(() => void (isTried = true));
  const wait: Converse<C> = async function* (conversation, signal) {
    if (waiting >= waitingMax) {
      const message = `${waiting} requests are already waiting for this server's tools. Try again soon.`;
      throw new ServiceError("queue_full", message, { retryAfterSecs: 1 });
    }
    const left = Promise.withResolvers<void>();
    signal.addEventListener("abort", () => left.resolve(), { once: true });
    waiting++;
    if (!signal.aborted) await Promise.race([tried, left.promise]);
    waiting--;
    if (!signal.aborted) yield* converse(conversation, signal);
  };
  return (conversation, signal) => (isTried ? converse(conversation, signal) : wait(conversation, signal));
}
