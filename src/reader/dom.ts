// Parses HTML to a DOM document. The only user of linkedom.

import { parseHTML } from "linkedom";

/** Document of a page or an HTML fragment. Runs no scripts and fetches nothing. */
export function documentOf(html: string): Document {
  // linkedom puts fragments beside <html>, where queries do not find them.
  const { document } = parseHTML(/<html[\s>]/i.test(html) ? html : `<html><body>${html}</body></html>`);
  return document;
}
