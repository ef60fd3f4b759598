// How the pages in ui/ become files for a browser. The build bundles them once and puts the files into the executable;
// a server that runs from source does it at the first visit.

import { join } from "node:path";

/** Folder of the files inside the executable. */
export const UI_FOLDER = "ui";

/** The worker that reads documents; its name is also in ui/documents/document.ts. */
export const READER_FILE = "reader.js";

/** Options for Bun's bundler. Names carry a hash of the content, but for those of the page itself and of its worker. */
export function uiBundle() {
  return {
    entrypoints: ["index.html", "documents/reader.ts"].map((file) => join(import.meta.dir, "../../ui", file)),
    minify: true,
    splitting: true, // what a page loads later is a file of its own
    target: "browser",
    naming: { entry: "[name].[ext]", chunk: "[name]-[hash].[ext]", asset: "[name]-[hash].[ext]" },
  } satisfies Bun.BuildConfig;
}
