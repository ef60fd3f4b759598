// POST /v1/chat/completions as a stream of events.

import type { ChatEvent } from "./chat-events.ts";
import { send } from "./client.ts";
import { readEvents } from "./read-events.ts";

/** Streams the answer to a request. Throws ApiError before the first event; ends with an `error` or `end` event. */
export async function* streamChat(body: unknown, signal: AbortSignal): AsyncGenerator<ChatEvent> {
  const response = await send("v1/chat/completions", { method: "POST", body, signal });
  if (response.body !== null) yield* readEvents(response.body, signal);
}
