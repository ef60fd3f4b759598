// The worker that reads documents: one task, one reply.

import { documentText } from "../../src/reader/html-text.ts";
import { decodedText } from "./decoded-text.ts";
import { officeText } from "./office.ts";
import { DocumentProblem, type ReadReply, type ReadTask, TEXT_CHARS_MAX } from "./reading.ts";

/** Text of a document, or why it has none. */
export function readTask({ kind, bytes }: ReadTask): ReadReply {
  try {
    const text = kind === "office" ? officeText(bytes) : documentText(decodedText(bytes));
    return text.length > TEXT_CHARS_MAX ? { problem: "tooLong" } : { text };
  } catch (error) {
    return { problem: error instanceof DocumentProblem ? error.problem : "damaged" };
  }
}

// In a page it would answer the page's own messages.
if (typeof document === "undefined")
  globalThis.addEventListener("message", ({ data }: MessageEvent<ReadTask>) => {
    // oxlint-disable-next-line unicorn/require-post-message-target-origin -- from a worker, which has none
    globalThis.postMessage(readTask(data));
  });
