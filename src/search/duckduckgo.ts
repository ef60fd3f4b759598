// Search provider: DuckDuckGo's HTML form. Needs no key; rate-limits with a CAPTCHA.

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
      throw new SearchFailure(`the search provider responded with HTTP status ${status}`);
    }
    const { hits, state } = await read("duckduckgo", { html: text }, signal);
    if (state === "refused")
      throw new SearchFailure(
        "the search provider requires a CAPTCHA; try later or configure another provider",
      );
    if (state === "unknown") throw new SearchFailure("the search provider's response is not a result page");
    return hits;
  };
}
