// Converts HTML to plain text by html-to-text. Pure; also bundled into the web interface, for attached files.

import { convert, type HtmlToTextOptions } from "html-to-text";
import { Parser } from "htmlparser2";
import { visibleText } from "../core/visible-text.ts";
import { DEPTH_MAX, DocumentProblem } from "./documents/reading.ts";
import { ARTICLE_DEPTH_MAX, TABLE_CELLS_MAX } from "./limits.ts";

const skipped = (selector: string) => ({ selector, format: "skip" });
const asItIs = (selector: string) => ({ selector, options: { uppercase: false } });

const OPTIONS: HtmlToTextOptions = {
  wordwrap: false,
  selectors: [
    { selector: "a", options: { ignoreHref: true } },
    ...["h1", "h2", "h3", "h4", "h5", "h6"].map(asItIs),
    { selector: "table", format: "dataTable", options: { uppercaseHeaderCells: false } },
    ...["img", "svg", "video", "audio", "iframe"].map(skipped),
  ],
};

/** Without the layout of tables: formatting one of thousands of cells takes minutes. */
const PLAIN_TABLES: HtmlToTextOptions = {
  ...OPTIONS,
  selectors: (OPTIONS.selectors ?? []).filter(({ selector }) => selector !== "table"),
  limits: { maxDepth: ARTICLE_DEPTH_MAX },
};

/** Without navigation; some pages use tables for layout. */
const MAIN: HtmlToTextOptions = {
  ...PLAIN_TABLES,
  selectors: [
    ...(PLAIN_TABLES.selectors ?? []),
    ...["nav", "header", "footer", "aside", "form", "noscript", "template"].map(skipped),
  ],
  baseElements: { selectors: ["main", "article", "body"], orderBy: "occurrence", returnDomByDefault: true },
  limits: { maxDepth: ARTICLE_DEPTH_MAX, maxBaseElements: 1 },
};

/** Text of an extracted article. */
export function articleText(html: string): string {
  return visibleText(convert(html, OPTIONS));
}

/** Text of a page's main part, without navigation. */
export function mainText(html: string): string {
  return visibleText(convert(html, MAIN));
}

/** Nothing of a document is left out. */
const WHOLE = { maxDepth: DEPTH_MAX, maxInputLength: Infinity };

/** All text of a document. Throws DocumentProblem. */
export function documentText(html: string): string {
  checkDepth(html);
  const cells = html.match(/<t[dh][\s>]/gi)?.length ?? 0;
  return visibleText(convert(html, { ...(cells > TABLE_CELLS_MAX ? PLAIN_TABLES : OPTIONS), limits: WHOLE }));
}

/** The parser looks through all open elements at each end tag. */
function checkDepth(html: string): void {
  let depth = 0;
  const parser = new Parser({
    onopentag: () => {
      if (++depth >= DEPTH_MAX) throw new DocumentProblem("tooDeep");
    },
    onclosetag: () => void depth--,
  });
  parser.end(html);
}
