// DuckDuckGo's form without scripts: needs no key, and asks heavy users for a proof of being human.

import { SearchFailure } from "./failure.ts";
import { getAnswer, type ProviderOptions, type SearchProvider } from "./provider.ts";
import type { Read } from "./reader.ts";

const ADDRESS = "https://html.duckduckgo.com/html/";

export function duckduckgo(read: Read, options: ProviderOptions = {}): SearchProvider {
  return async (query, signal) => {
    const url = new URL(options.url ?? ADDRESS);
    url.searchParams.set("q", query);
    const { status, text } = await getAnswer(url, { accept: "text/html" }, options, signal);
    if (status < 200 || status > 299) {
      throw new SearchFailure(`the search provider answered with HTTP status ${status}`);
    }
    const { hits, state } = await read("duckduckgo", { html: text }, signal);
    if (state === "refused") throw new SearchFailure("the search provider takes this server for a robot");
    if (state === "unknown") throw new SearchFailure("the search provider's answer is no page of results");
    return hits;
  };
}
