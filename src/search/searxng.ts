// Search provider: a self-hosted SearXNG instance, whose settings must enable the JSON format.

import { type Static, Type } from "@sinclair/typebox";
import { Value } from "@sinclair/typebox/value";
import { SearchFailure } from "./failure.ts";
import { getJson, type ProviderOptions, type SearchProvider } from "./provider.ts";

const Result = Type.Object({
  title: Type.String(),
  url: Type.String(),
  content: Type.Optional(Type.Union([Type.String(), Type.Null()])),
});
const Answer = Type.Object({
  results: Type.Array(Type.Unknown()),
  unresponsive_engines: Type.Optional(Type.Array(Type.Unknown())),
});

/** `url` of the instance, such as `http://localhost:8888`. */
export function searxng(options: ProviderOptions & { readonly url: string }): SearchProvider {
  return async (query, signal) => {
    const url = new URL("search", options.url.replace(/\/*$/, "/"));
    url.search = new URLSearchParams({ q: query, format: "json", categories: "general" }).toString();
    const answer = await getJson(url, { accept: "application/json" }, options, signal);
    if (!Value.Check(Answer, answer))
      throw new SearchFailure("the search provider's response has no results");
    const { results, unresponsive_engines: silent = [] } = answer;
    if (results.length === 0 && silent.length > 0) {
      throw new SearchFailure("none of the search provider's engines answered");
    }
    return results.filter((result): result is Static<typeof Result> => Value.Check(Result, result)).map(hit);
  };
}

function hit({ title, url, content }: Static<typeof Result>) {
  return { title, url, description: content ?? "" };
}
