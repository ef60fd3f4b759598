// Decodes a byte stream into ChatEvents.

import { EventSourceParserStream } from "eventsource-parser/stream";
import { type ChatEvent, chatEvents } from "./chat-events.ts";

/** The events of a byte stream. If the stream ends early, the last event is an `error`. */
export async function* readEvents(bytes: ReadableStream<Uint8Array<ArrayBuffer>>): AsyncGenerator<ChatEvent> {
  const reader = bytes
    .pipeThrough(new TextDecoderStream())
    .pipeThrough(new EventSourceParserStream())
    .getReader();
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) break;
      for (const event of chatEvents(value)) {
        yield event;
        if (event.type === "end") return;
      }
    }
  } finally {
    await reader.cancel().catch(() => undefined); // the stream may have failed already
  }
  yield { type: "error", message: "The connection was lost before the answer was complete." };
}
