// The bytes of a stream → events.

import { EventSourceParserStream } from "eventsource-parser/stream";
import { type ChatEvent, chatEvents } from "./chat-events.ts";

/** The events in the bytes of a stream. One that breaks off ends with an `error`. */
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
    await reader.cancel().catch(() => undefined); // it may have failed already
  }
  yield { type: "error", message: "The connection ended before the answer did." };
}
