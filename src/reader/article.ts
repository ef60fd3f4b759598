// Extracts a page's main text: Mozilla's Readability selects the article, html-to-text converts it. Readability's time is
// quadratic in a page's depth, so pages that are too deep or too large are converted whole.

import { Readability } from "@mozilla/readability";
import { convert, type HtmlToTextOptions } from "html-to-text";
import { ARTICLE_CHARS_MIN, ARTICLE_DEPTH_MAX, ARTICLE_ELEMENTS_MAX } from "./limits.ts";
import { visibleText } from "../core/visible-text.ts";
import { documentOf } from "./dom.ts";
import type { Article } from "./protocol.ts";

export function articleOf(html: string): Article {
  const title = titleOf(html);
  // Counting tags is cheap; parsing too many of them is not.
  if ((html.match(/<[a-z]/gi)?.length ?? 0) > ARTICLE_ELEMENTS_MAX) return { title, text: wholeText(html) };
  const document = documentOf(html);
  if (depthOf(document.documentElement) > ARTICLE_DEPTH_MAX) return { title, text: wholeText(html) };
  const found = new Readability(document).parse();
  const text = visibleText(convert(found?.content ?? "", OPTIONS));
  // A page without an article, such as a price table, still has text.
  return {
    title: visibleText(found?.title ?? "") || title,
    text: text.length < ARTICLE_CHARS_MIN ? wholeText(html) : text,
  };
}

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

const WHOLE: HtmlToTextOptions = {
  ...OPTIONS,
  // Some pages use tables for layout, and formatting a table of thousands of cells takes minutes.
  selectors: [
    ...(OPTIONS.selectors ?? []).filter(({ selector }) => selector !== "table"),
    ...["nav", "header", "footer", "aside", "form", "noscript", "template"].map(skipped),
  ],
  baseElements: { selectors: ["main", "article", "body"], orderBy: "occurrence", returnDomByDefault: true },
  limits: { maxDepth: ARTICLE_DEPTH_MAX, maxBaseElements: 1 },
};

function wholeText(html: string): string {
  return visibleText(convert(html, WHOLE));
}

function titleOf(html: string): string {
  const [, title = ""] = /<title[^>]*>([^<]{0,1000})/i.exec(html) ?? [];
  return visibleText(convert(title, OPTIONS));
}

/** Maximum element depth. Iterative, because the depth is unbounded. */
function depthOf(root: Element): number {
  let deepest = 0;
  let level: readonly Element[] = [root];
  while (level.length > 0 && deepest <= ARTICLE_DEPTH_MAX) {
    deepest++;
    level = level.flatMap((element) => [...element.children]);
  }
  return deepest;
}
