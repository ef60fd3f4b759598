// Opens a PDF in this process, which nothing but the document's text depends on. pdf.js is made for browsers: what it wants of
// one for text is here.

import { DocumentProblem, type ReadReply } from "./reading.ts";
import { textOfPages } from "./pdf.ts";

/** Text of a PDF, or why it has none. */
export async function readPdf(data: Uint8Array): Promise<ReadReply> {
  Object.assign(globalThis, {
    DOMMatrix: Object, // is constructed once; used to paint only
    pdfjsWorker: await import("pdfjs-dist/build/pdf.worker.min.mjs"), // else it starts a worker from a file
  });
  const { getDocument, VerbosityLevel } = await import("pdfjs-dist");
  try {
    const pdf = await getDocument({ data, useWasm: false, verbosity: VerbosityLevel.ERRORS }).promise;
    return { text: (await textOfPages(pdf)).text };
  } catch (error) {
    if (error instanceof DocumentProblem) return { problem: error.problem };
    const isLocked = error instanceof Error && error.name === "PasswordException";
    return { problem: isLocked ? "needsPassword" : "notPdf" };
  }
}
