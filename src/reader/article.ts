// Extracts a page's main text: Mozilla's Readability selects the article. Readability's time is
// quadratic in a page's depth, so pages that are too deep or too large are converted whole.

import { Readability } from "@mozilla/readability";
import { ARTICLE_CHARS_MIN, ARTICLE_DEPTH_MAX, ARTICLE_ELEMENTS_MAX } from "./limits.ts";
import { visibleText } from "../core/visible-text.ts";
import { documentOf } from "./dom.ts";
import { articleText, mainText } from "./html-text.ts";
import type { Article } from "./protocol.ts";

export function articleOf(html: string): Article {
  const title = titleOf(html);
  // Counting tags is cheap; parsing too many of them is not.
  if ((html.match(/<[a-z]/gi)?.length ?? 0) > ARTICLE_ELEMENTS_MAX) return { title, text: mainText(html) };
  const document = documentOf(html);
  if (depthOf(document.documentElement) > ARTICLE_DEPTH_MAX) return { title, text: mainText(html) };
  const found = foundIn(document);
  const text = articleText(found?.content ?? "");
  // A page without an article, such as a price table, still has text.
  return {
    title: visibleText(found?.title ?? "") || title,
    text: text.length < ARTICLE_CHARS_MIN ? mainText(html) : text,
  };
}

/** Readability fails on some pages without a body, which HTML lets one leave out. */
function foundIn(document: Document): ReturnType<Readability["parse"]> {
  try {
    return new Readability(document).parse();
  } catch {
    return null;
  }
}

function titleOf(html: string): string {
  const [, title = ""] = /<title[^>]*>([^<]{0,1000})/i.exec(html) ?? [];
  return articleText(title);
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
