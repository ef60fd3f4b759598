// POST /v1/chat/completions as a stream of events, held by the server under the id of a run.

import type { ChatEvent } from "./chat-events.ts";
import { send } from "./client.ts";
import { readEvents } from "./read-events.ts";

export interface ChatRequest {
  readonly body: unknown;
  /** Ids of MCP servers whose tools the model does without. */
  readonly mcpOff: readonly string[];
}

/** Streams the answer to a request. Throws ApiError before the first event; ends with an `error`, `stopped` or `end` event. */
export async function* streamChat(
  { body, mcpOff }: ChatRequest,
  runId: string,
  signal: AbortSignal,
): AsyncGenerator<ChatEvent> {
  const headers = { "x-svc-run": runId, ...mcpOffHeader(mcpOff) };
  yield* eventsOf(await send("v1/chat/completions", { method: "POST", body, signal, headers }), signal);
}

/** Streams all events of a run that the server holds, from its beginning. Throws ApiError, status 404 where it holds none. */
export async function* joinChat(runId: string, signal: AbortSignal): AsyncGenerator<ChatEvent> {
  yield* eventsOf(await send(`ui/runs/${runId}`, { signal }), signal);
}

/** Ends a run for all who follow it. Throws ApiError. */
export async function stopChat(runId: string): Promise<void> {
  await send(`ui/runs/${runId}`, { method: "DELETE" });
}

async function* eventsOf({ body }: Response, signal: AbortSignal): AsyncGenerator<ChatEvent> {
  yield { type: "begin" };
  if (body !== null) yield* readEvents(body, signal);
}

/** Header with the ids of the MCP servers that a conversation does without. */
export function mcpOffHeader(off: readonly string[]): Readonly<Record<string, string>> {
  return { "x-svc-mcp-off": encodeURIComponent(JSON.stringify(off)) };
}
