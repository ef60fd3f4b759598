// Parses a result page of DuckDuckGo's HTML form. Pure; owns all knowledge of the page's structure.

import { documentOf } from "./dom.ts";
import type { Hit, HitsPage } from "./protocol.ts";

export function duckduckgoHits(html: string): HitsPage {
  const document = documentOf(html);
  const results = [...document.querySelectorAll(".result")];
  const hits = results.flatMap((result) => hitOf(result) ?? []);
  return { hits, state: hits.length > 0 ? "found" : stateOf(document) };
}

function stateOf(document: Document): HitsPage["state"] {
  if (document.querySelector("#challenge-form, .anomaly-modal__title") !== null) return "refused";
  return document.querySelector(".no-results, .result--no-result") === null ? "unknown" : "nothing";
}

/** Undefined for advertisements and incomplete results. */
function hitOf(result: Element): Hit | undefined {
  if (result.classList.contains("result--ad")) return undefined;
  const title = textOf(result, ".result__title");
  const description = textOf(result, ".result__snippet");
  const url = targetOf(result);
  return title === "" || description === "" || url === undefined ? undefined : { title, description, url };
}

function textOf(result: Element, selector: string): string {
  return (result.querySelector(selector)?.textContent ?? "").replace(/\s+/g, " ").trim();
}

/** Target of a result: a parameter of the redirect link, or the displayed URL, which has no scheme. */
function targetOf(result: Element): string | undefined {
  const link = result.querySelector(".result__title a, a.result__a")?.getAttribute("href");
  const url = URL.parse(link ?? "", "https://duckduckgo.com/");
  const isCounter = url?.pathname === "/l/" && /(?:^|\.)duckduckgo\.com$/.test(url.hostname);
  const target = isCounter ? url.searchParams.get("uddg") : link;
  return webAddress(target ?? "") ?? webAddress(`https://${textOf(result, ".result__url")}`);
}

function webAddress(text: string): string | undefined {
  const url = URL.parse(text);
  return url !== null && /^https?:$/.test(url.protocol) && url.hostname.includes(".") ? url.href : undefined;
}
