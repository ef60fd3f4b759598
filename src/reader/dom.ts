// HTML as a document. The one place that knows linkedom.

import { parseHTML } from "linkedom";

/** The document of a whole page or of a piece of one. Nothing in it is run or fetched. */
export function documentOf(html: string): Document {
  // linkedom puts loose content beside <html>, where nobody would look for it.
  const { document } = parseHTML(/<html[\s>]/i.test(html) ? html : `<html><body>${html}</body></html>`);
  return document;
}
