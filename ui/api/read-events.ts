// Decodes a byte stream into ChatEvents.

import { EventSourceParserStream } from "eventsource-parser/stream";
import { type ChatEvent, chatEvents } from "./chat-events.ts";
import { t } from "../texts/texts.ts";

/** Code of the error at the end of a stream that was cut. */
export const CONNECTION_LOST = "connection_lost";

const LOST = { done: true, value: undefined } as const;

/** The events of a byte stream. If it ends early and was not aborted, the last event is an `error`. */
export async function* readEvents(
  bytes: ReadableStream<Uint8Array<ArrayBuffer>>,
  signal: AbortSignal,
): AsyncGenerator<ChatEvent> {
  const reader = bytes
    .pipeThrough(new TextDecoderStream())
    .pipeThrough(new EventSourceParserStream())
    .getReader();
  try {
    for (;;) {
      const { done, value } = await reader.read().catch((error: unknown) => {
        if (signal.aborted) throw error;
        return LOST; // a browser says no more than "network error"
      });
      if (done) break;
      for (const event of chatEvents(value)) {
        yield event;
        if (event.type === "end" || event.type === "stopped") return;
      }
    }
  } finally {
    await reader.cancel().catch(() => undefined); // the stream may have failed already
  }
  yield {
    type: "error",
    code: CONNECTION_LOST,
    message: t.errors.cut,
  };
}
