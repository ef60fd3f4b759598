// Recognizes documents among files and extracts their text, in workers: files come from third parties, and small ones can take hours. The
// readers are loaded when they are first needed.
// Extraction in the server would be attack surface of a process that holds keys; BM25 in place of embeddings needs no second model.

import type { DocumentText } from "../../src/reader/documents/pdf.ts";
import type { Kind, ReadReply } from "../../src/reader/documents/reading.ts";
import type { ReadTask } from "../../src/reader/documents/text.ts";
import { t } from "../texts/texts.ts";
import { workerFrom } from "./worker.ts";

/** Name of the worker's file beside the page; also in src/http/ui-bundle.ts. */
const READER_FILE = "reader.js";

/** Longest time for a document that is no PDF, milliseconds. */
const READ_MS = 20_000;

/** Text of a document. Throws an Error whose message completes "NAME could not be read: …". */
export async function readDocument(kind: Kind, name: string, bytes: Uint8Array): Promise<DocumentText> {
  if (kind === "pdf") return (await import("./pdf.ts")).pdfText(bytes);
  const reply = await inWorker({ kind, bytes });
  if ("text" in reply) return reply;
  const { problem } = reply;
  if (problem === "unknownKind") throw new Error(t.files.unknownKind(name.split(".").at(-1) ?? ""));
  throw new Error(t.files[problem]);
}

/** Reads it in a worker of its own, which is ended after a while. */
async function inWorker(task: ReadTask): Promise<ReadReply> {
  const worker = workerFrom(READER_FILE);
  const replied = Promise.withResolvers<ReadReply>();
  worker.addEventListener("message", ({ data }: MessageEvent<ReadReply>) => replied.resolve(data));
  worker.addEventListener("error", () => replied.resolve({ problem: "damaged" })); // out of memory, too
  const timer = setTimeout(() => replied.resolve({ problem: "tooSlow" }), READ_MS);
  try {
    // oxlint-disable-next-line unicorn/require-post-message-target-origin -- of a worker, which has none
    worker.postMessage(task);
    return await replied.promise;
  } finally {
    clearTimeout(timer);
    worker.terminate();
  }
}
