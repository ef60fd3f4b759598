// How the pages in ui/ become files for a browser. The build bundles them once and puts the files into the executable;
// a server that runs from source does it at the first visit.

import { join } from "node:path";

/** Folder of the files inside the executable. */
export const UI_FOLDER = "ui";

/** Options for Bun's bundler. Names carry a hash of the content, but for that of the page itself. */
export function uiBundle() {
  return {
    entrypoints: [join(import.meta.dir, "../../ui/index.html")],
    minify: true,
    splitting: true, // what a page loads later is a file of its own
    target: "browser",
    naming: { entry: "[name].[ext]", chunk: "[name]-[hash].[ext]", asset: "[name]-[hash].[ext]" },
  } satisfies Bun.BuildConfig;
}
