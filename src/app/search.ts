// Web search of the composition root: from settings to provider, pages and ranking.

import { SEARCH_MODEL_NAME, type Settings } from "../config/settings.ts";
import { processEnvironment } from "../config/sources.ts";
import { assert, itemAt, unreachable } from "../core/assert.ts";
import { defined } from "../core/defined.ts";
import type { Embed } from "../core/run.ts";
import { readSecrets } from "../core/secret.ts";
import type { PublicFetch } from "../net/public-fetch.ts";
import { brave } from "../search/brave.ts";
import { duckduckgo } from "../search/duckduckgo.ts";
import { pageGetter } from "../search/page.ts";
import type { SearchProvider } from "../search/provider.ts";
import { createReader, type Read } from "../search/reader.ts";
import { embeddingRerank, GEMMA_FORM, PLAIN_FORM } from "../search/rerank.ts";
import { searxng } from "../search/searxng.ts";
import type { Web } from "../search/types.ts";
import { createWeb } from "../search/web.ts";

export interface SearchOptions {
  readonly settings: Settings;
  readonly embed: Embed;
  /** Fetches the pages that were found. */
  readonly fetchPublic: PublicFetch;
  readonly log: (line: string) => void;
}

/** The web as the settings let models see it; undefined where they do not. */
export function openSearch({ settings, embed, fetchPublic, log }: SearchOptions): Web | undefined {
  const { runtime } = settings;
  if (!runtime.agent && !runtime.enable_search) return undefined;
  const read = createReader();
  const model = runtime.search_embedding_model;
  const form = model === SEARCH_MODEL_NAME ? GEMMA_FORM : PLAIN_FORM;
  return createWeb({
    provider: providerOf(runtime, read),
    getPage: pageGetter({ fetchPublic, read }),
    read,
    ...(model === undefined ? {} : { rerank: embeddingRerank(embed, model, form) }),
    log,
  });
}

function providerOf(runtime: Settings["runtime"], read: Read): SearchProvider {
  const { search_provider: name, search_url: url, search_api_key: key } = runtime;
  const options = defined({ url });
  switch (name) {
    case "duckduckgo":
      return duckduckgo(read, options);
    case "searxng":
      assert(url !== undefined, "rules.ts demands search_url");
      return searxng({ url });
    case "brave":
      assert(key !== undefined, "rules.ts demands search_api_key");
      return brave(itemAt(readSecrets("runtime.search_api_key", [key], processEnvironment()), 0), options);
    default:
      return unreachable(name);
  }
}
