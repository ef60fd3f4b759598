// Text and page images of a PDF, by pdf.js in a worker of its own. Loaded with the first PDF.

import { getDocument, GlobalWorkerOptions, type PDFDocumentProxy } from "pdfjs-dist";
// oxlint-disable-next-line import/default -- the bundler's: the address of the file
import workerFile from "pdfjs-dist/build/pdf.worker.min.mjs" with { type: "file" };
import { type DocumentText, textOfPages } from "../../src/reader/documents/pdf.ts";
import { DocumentProblem } from "../../src/reader/documents/reading.ts";
import { workerFrom } from "./worker.ts";
import { t } from "../texts/texts.ts";

/** Width of a page image, pixels, and quality of its JPEG: small print stays readable. */
const PAGE_WIDTH = 1100;
const JPEG_QUALITY = 0.85;

/** Longest time for a document, milliseconds: a thousand pages take some twenty seconds. */
const READ_MS = 60_000;

let worker: Worker | undefined;

/** Text of all pages, each below its number. Throws an Error with a message for display. */
export async function pdfText(bytes: Uint8Array): Promise<DocumentText> {
  return withPdf(bytes, textOfPages);
}

/** The first pages as JPEG data URLs. */
export async function pdfImages(bytes: Uint8Array, count: number): Promise<string[]> {
  return withPdf(bytes, async (pdf) => {
    const images: string[] = [];
    for (let number = 1; number <= Math.min(count, pdf.numPages); number++) {
      images.push(await imageOf(pdf, number));
    }
    return images;
  });
}

async function imageOf(pdf: PDFDocumentProxy, number: number): Promise<string> {
  const page = await pdf.getPage(number);
  const viewport = page.getViewport({ scale: PAGE_WIDTH / page.getViewport({ scale: 1 }).width });
  const canvas = document.createElement("canvas");
  canvas.width = Math.round(viewport.width);
  canvas.height = Math.round(viewport.height);
  await page.render({ canvas, viewport }).promise;
  page.cleanup();
  return canvas.toDataURL("image/jpeg", JPEG_QUALITY);
}

async function withPdf<T>(bytes: Uint8Array, use: (pdf: PDFDocumentProxy) => Promise<T>): Promise<T> {
  GlobalWorkerOptions.workerPort = worker ??= workerFrom(workerFile);
  const task = getDocument({ data: bytes.slice(), useWasm: false }); // the worker takes the copy over
  const late = Promise.withResolvers<never>();
  const timer = setTimeout(() => late.reject(new TooSlow()), READ_MS);
  try {
    return await Promise.race([task.promise.then(use), late.promise]);
  } catch (error) {
    if (error instanceof TooSlow) {
      worker.terminate(); // it may never answer again
      worker = undefined;
      throw new Error(t.files.tooSlow, { cause: error });
    }
    if (error instanceof DocumentProblem) throw new Error(t.files.tooLong, { cause: error });
    const isLocked = error instanceof Error && error.name === "PasswordException";
    throw new Error(isLocked ? t.files.needsPassword : t.files.notPdf, {
      cause: error,
    });
  } finally {
    clearTimeout(timer);
    if (worker !== undefined) await task.destroy();
  }
}

/** READ_MS has passed. */
class TooSlow extends Error {}
