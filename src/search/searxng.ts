// Search provider: a self-hosted SearXNG instance, whose settings must enable the JSON format.

import { type Static, Type } from "@sinclair/typebox";
import { Value } from "@sinclair/typebox/value";
import { SearchFailure } from "./failure.ts";
import { getJson, type Hit, type ProviderOptions, type SearchProvider } from "./provider.ts";

const Result = Type.Object({
  title: Type.String(),
  url: Type.String(),
  content: Type.Optional(Type.Union([Type.String(), Type.Null()])),
});
/** A box about a thing, such as a person, and a direct answer to the query; of both only those with an address are used. */
const Infobox = Type.Object({
  infobox: Type.String(),
  content: Type.Optional(Type.Union([Type.String(), Type.Null()])),
  urls: Type.Array(Type.Object({ url: Type.String() }), { minItems: 1 }),
});
const DirectAnswer = Type.Object({ answer: Type.String(), url: Type.String() });
const Answer = Type.Object({
  results: Type.Array(Type.Unknown()),
  answers: Type.Optional(Type.Array(Type.Unknown())),
  infoboxes: Type.Optional(Type.Array(Type.Unknown())),
  unresponsive_engines: Type.Optional(Type.Array(Type.Unknown())),
});

/** `url` of the instance, such as `http://localhost:8888`. */
export function searxng(options: ProviderOptions & { readonly url: string }): SearchProvider {
  return async (query, signal) => {
    const url = new URL("search", options.url.replace(/\/*$/, "/"));
    url.search = new URLSearchParams({ q: query, format: "json", categories: "general" }).toString();
    const hints = { 403: "the instance must list json in search.formats of its settings" };
    const answer = await getJson(url, { accept: "application/json" }, { ...options, hints }, signal);
    if (!Value.Check(Answer, answer))
      throw new SearchFailure("the search provider's response has no results");
    const { results, answers = [], infoboxes = [], unresponsive_engines: silent = [] } = answer;
    const found = [
      ...answers.flatMap(ofAnswer),
      ...results.flatMap(ofResult),
      ...infoboxes.flatMap(ofInfobox),
    ];
    if (found.length === 0 && silent.length > 0) {
      throw new SearchFailure("none of the search provider's engines answered");
    }
    return found;
  };
}

function ofResult(result: unknown): readonly Hit[] {
  return Value.Check(Result, result) ? [hit(result)] : [];
}

function ofAnswer(answer: unknown): readonly Hit[] {
  if (!Value.Check(DirectAnswer, answer)) return [];
  return [{ title: "Answer", url: answer.url, description: answer.answer }];
}

function ofInfobox(box: unknown): readonly Hit[] {
  if (!Value.Check(Infobox, box)) return [];
  return box.urls.slice(0, 1).map(({ url }) => ({ title: box.infobox, url, description: box.content ?? "" }));
}

function hit({ title, url, content }: Static<typeof Result>) {
  return { title, url, description: content ?? "" };
}
