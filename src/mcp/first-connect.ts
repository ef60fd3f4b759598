// Delays conversations until each MCP server was tried once, so that the first ones get the same tools as later ones.

import { aborted } from "node:util";
import type { Conversation, Converse } from "../core/agent.ts";
import { queueFull } from "../core/fair-share.ts";
import type { ToolCounts } from "../core/model-info.ts";
import type { PageMcpServers } from "./page-servers.ts";
import type { McpServers } from "./servers.ts";

/** Tool counts for model cards; undefined where the server has no tools of its own. */
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
 * A Converse that delays conversations until each server was tried once. At most `waitingMax` wait, for at most the time to
 * connect.
 */
export function afterFirstTry<C extends Conversation>(
  mcp: Pick<McpServers, "tried">,
  waitingMax: number,
  converse: Converse<C>,
): Converse<C> {
  let isTried = false;
  let waiting = 0;
  const tried = mcp.tried().then(() => void (isTried = true));
  const wait: Converse<C> = async function* (conversation, signal, caller) {
    if (waiting >= waitingMax) throw queueFull(waiting, "this server's tools");
    waiting++;
    if (!signal.aborted) await Promise.race([tried, aborted(signal, signal)]);
    waiting--;
    if (!signal.aborted) yield* converse(conversation, signal, caller);
  };
  return (conversation, signal, caller) => (isTried ? converse : wait)(conversation, signal, caller);
}

/** A Converse that delays a conversation until each server was tried once that its caller added. */
export function afterOwnTry<C extends Conversation>(
  mcp: Pick<PageMcpServers, "tried">,
  converse: Converse<C>,
): Converse<C> {
  const wait: Converse<C> = async function* (conversation, signal, caller) {
    const { mcp: selection } = conversation.agent;
    if (selection !== undefined && !signal.aborted)
      await Promise.race([mcp.tried(selection, caller), aborted(signal, signal)]);
    if (!signal.aborted) yield* converse(conversation, signal, caller);
  };
  return (conversation, signal, caller) =>
    (conversation.agent.mcp?.own === true ? wait : converse)(conversation, signal, caller);
}
