// Text of a document that is no PDF: untrusted bytes, read in a worker of the page or a process of the terminal.

import { documentText } from "../html-text.ts";
import { decodedText } from "./decoded-text.ts";
import { officeText } from "./office.ts";
import { DocumentProblem, type Kind, type ReadReply, TEXT_CHARS_MAX } from "./reading.ts";

/** A document to read. */
export interface ReadTask {
  readonly kind: Exclude<Kind, "pdf">;
  readonly bytes: Uint8Array;
}

/** Text of a document, or why it has none. */
export function readTask({ kind, bytes }: ReadTask): ReadReply {
  try {
    const text = kind === "office" ? officeText(bytes) : documentText(decodedText(bytes));
    return text.length > TEXT_CHARS_MAX ? { problem: "tooLong" } : { text };
  } catch (error) {
    return { problem: error instanceof DocumentProblem ? error.problem : "damaged" };
  }
}
