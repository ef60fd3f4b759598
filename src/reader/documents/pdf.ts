// Text of the pages of a PDF, once pdf.js has opened it.

import type { PDFDocumentProxy, PDFPageProxy } from "pdfjs-dist";
import type { TextContent } from "pdfjs-dist/types/src/display/api";
import { Pieces } from "./reading.ts";

/** Text of a document. */
export interface DocumentText {
  readonly text: string;
  /** Pages, of a PDF. */
  readonly pages?: number;
}

/** Text of all pages, each below its number; "" where no page has any. Throws DocumentProblem. */
export async function textOfPages(pdf: PDFDocumentProxy): Promise<DocumentText> {
  const pages = new Pieces();
  let isScan = true;
  for (let number = 1; number <= pdf.numPages; number++) {
    const page = await pdf.getPage(number);
    const text = (await textOf(page)).trim();
    isScan &&= text === "";
    pages.push(`${number === 1 ? "" : "\n\n"}[page ${number}]\n${text}`);
    page.cleanup();
  }
  return { text: isScan ? "" : pages.text(), pages: pdf.numPages };
}

/** Text of a page. By a reader: WebKit cannot iterate over streams, as the library's own function does. */
async function textOf(page: PDFPageProxy): Promise<string> {
  const stream: ReadableStream<TextContent> = page.streamTextContent();
  const reader = stream.getReader();
  let text = "";
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return text;
    for (const item of value.items) if ("str" in item) text += item.str + (item.hasEOL ? "\n" : "");
  }
}
