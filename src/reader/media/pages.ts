// Pages of a PDF as images, for one without text. Package: @hyzyla/pdfium (MIT; PDFium, BSD-3-Clause and Apache-2.0, in WebAssembly).
// Rejected: pdf.js, which paints on a canvas that only native packages have outside of browsers; mupdf (AGPL).

import { PDFiumLibrary } from "@hyzyla/pdfium";
import pdfiumWasm from "@hyzyla/pdfium/pdfium.wasm" with { type: "file" };
import { PAGE_EDGE } from "../limits.ts";
import type { ImageReply, PagesTask } from "../protocol.ts";
import { rasterPng } from "./raster.ts";

/** The first pages. */
export async function readPages({ data, pagesMax }: PagesTask): Promise<ImageReply> {
  try {
    const library = await PDFiumLibrary.init({ wasmBinary: await Bun.file(pdfiumWasm).arrayBuffer() });
    const document = await library.loadDocument(Uint8Array.fromBase64(data));
    const total = document.getPageCount();
    const frames: { png: string; seconds: number }[] = [];
    for (let index = 0; index < Math.min(total, pagesMax); index++) {
      const page = document.getPage(index);
      const { originalWidth: width, originalHeight: height } = page.getOriginalSize();
      const edge = Math.max(width, height);
      if (!(edge > 0)) return { problem: "damaged" };
      const raster = await page.render({ scale: PAGE_EDGE / edge, render: "bitmap" });
      frames.push({ png: (await rasterPng(raster)).toBase64(), seconds: 0 });
    }
    return frames.length === 0 ? { problem: "damaged" } : { frames, total };
  } catch {
    return { problem: "damaged" };
  }
}
