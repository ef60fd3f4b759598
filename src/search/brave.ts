// Search provider: Brave's API, which requires a key.

import { type Static, Type } from "@sinclair/typebox";
import { Value } from "@sinclair/typebox/value";
import { SEARCH_HITS_MAX } from "./limits.ts";
import { SearchFailure } from "./failure.ts";
import { getJson, type ProviderOptions, type SearchProvider } from "./provider.ts";

const ADDRESS = "https://api.search.brave.com/res/v1/web/search";
/** Query limits of the API. */
const QUERY_CHARS_MAX = 400;
const QUERY_WORDS_MAX = 50;

const Result = Type.Object({
  title: Type.String(),
  url: Type.String(),
  description: Type.Optional(Type.String()),
});
const Answer = Type.Object({
  web: Type.Optional(Type.Union([Type.Object({ results: Type.Array(Type.Unknown()) }), Type.Null()])),
});

export function brave(key: string, options: ProviderOptions = {}): SearchProvider {
  return async (query, signal) => {
    const url = new URL(options.url ?? ADDRESS);
    const asked = query.split(/\s+/).slice(0, QUERY_WORDS_MAX).join(" ").slice(0, QUERY_CHARS_MAX);
    url.searchParams.set("q", asked);
    url.searchParams.set("count", String(SEARCH_HITS_MAX));
    url.searchParams.set("text_decorations", "false");
    const headers = { accept: "application/json", "x-subscription-token": key };
    const answer = await getJson(url, headers, options, signal);
    if (!Value.Check(Answer, answer))
      throw new SearchFailure("the search provider's response has no results");
    const results = answer.web?.results ?? [];
    return results.filter((result): result is Static<typeof Result> => Value.Check(Result, result)).map(hit);
  };
}

function hit({ title, url, description }: Static<typeof Result>) {
  return { title, url, description: description ?? "" };
}
