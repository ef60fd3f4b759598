// Web search pipeline: provider hits, page texts, ranked passages, cut to the token budget.
// The provider is the operator's and can be anywhere; its redirects are not followed, since a key would go along. Pages come through
// public-fetch.ts only. Filters hold for redirects and extracted pages, too. Template markup in page texts is escaped.

import { reasonOf } from "../core/reason.ts";
import { PAGES_MS, SEARCH_QUERY_CHARS_MAX, SEARCH_SITE_TERMS_MAX } from "./limits.ts";
import type { ReadHit } from "../reader/protocol.ts";
import { isAllowed } from "./domains.ts";
import { SearchFailure } from "./failure.ts";
import { fitResults, fitText } from "./fit.ts";
import type { GetPage, Page } from "./page.ts";
import { type Hit, type SearchProvider, tidyHits } from "./provider.ts";
import type { Read } from "./reader.ts";
import type { Rerank } from "./rerank.ts";
import type { DomainFilter, Web, WebRequest, WebPageText, WebResult } from "./types.ts";

export interface WebDeps {
  readonly provider: SearchProvider;
  readonly getPage: GetPage;
  readonly read: Read;
  readonly rerank?: Rerank;
  /** Lines contain no queries and no URLs. */
  readonly log: (line: string) => void;
}

export function createWeb(deps: WebDeps): Web {
  return {
    search: (query, ask, signal) =>
      isAddress(query) ? searchAddress(deps, query, ask, signal) : search(deps, query, ask, signal),
    read: (url, ask, signal) => read(deps, url, ask, signal),
  };
}

function isAddress(query: string): boolean {
  return /^https?:\/\/\S+$/i.test(query.trim());
}

async function searchAddress(
  deps: WebDeps,
  query: string,
  ask: WebRequest,
  signal: AbortSignal,
): Promise<readonly WebResult[]> {
  const { url, title, text } = await allowedPage(deps, query.trim(), ask.filter, signal);
  const hit = { title: title || url, description: "", url, text };
  return fitResults([hit], [{ hit: 0, index: 0, text }], ask.budget);
}

async function read(deps: WebDeps, url: string, ask: WebRequest, signal: AbortSignal): Promise<WebPageText> {
  if (!isAddress(url)) throw new SearchFailure("only http and https URLs can be read");
  const page = await allowedPage(deps, url.trim(), ask.filter, signal);
  return { url: page.url, content: await fitText(page.text, ask.budget) };
}

/** Reads a page unless the filter forbids its URL or the final URL. */
async function allowedPage(
  { getPage }: WebDeps,
  url: string,
  filter: DomainFilter,
  signal: AbortSignal,
): Promise<Page> {
  const refusal = "the request's domain filter does not permit this host";
  if (!isAllowed(url, filter)) throw new SearchFailure(refusal);
  const page = await getPage(url, signal);
  if (!isAllowed(page.url, filter)) throw new SearchFailure(refusal);
  return page;
}

async function search(
  deps: WebDeps,
  query: string,
  { filter, budget, caller }: WebRequest,
  signal: AbortSignal,
): Promise<readonly WebResult[]> {
  const asked = query.slice(0, SEARCH_QUERY_CHARS_MAX);
  const found = await deps.provider(withSites(asked, filter), signal).catch((error: unknown) => {
    if (error instanceof SearchFailure) deps.log(`web search: ${error.message}`);
    throw error;
  });
  const hits = await readAll(
    deps,
    tidyHits(found.filter(({ url }) => isAllowed(url, filter))),
    filter,
    signal,
  );
  const passages = await deps.read("ranking", { query: asked, hits }, signal);
  const { rerank } = deps;
  if (rerank === undefined) return fitResults(hits, passages, budget);
  const ranked = await rerank(asked, { hits, passages }, signal, caller).catch((error: unknown) => {
    signal.throwIfAborted();
    deps.log(`web search: results are not reranked: ${reasonOf(error)}`);
    return passages;
  });
  return fitResults(hits, ranked, budget);
}

/** Adds `site:` operators to the query. Hits are filtered afterwards anyway. */
function withSites(query: string, { allowed, blocked }: DomainFilter): string {
  const few = (domains: readonly string[]) => (domains.length <= SEARCH_SITE_TERMS_MAX ? domains : []);
  const wanted = few(allowed).map((domain) => `site:${domain}`);
  const unwanted = few(blocked).map((domain) => `-site:${domain}`);
  return [query, wanted.join(" OR "), ...unwanted].filter((part) => part !== "").join(" ");
}

/** Hits with their page texts. A page that fails or times out has only its description. */
async function readAll(
  { getPage, log }: WebDeps,
  hits: readonly Hit[],
  filter: DomainFilter,
  signal: AbortSignal,
): Promise<readonly ReadHit[]> {
  const deadline = AbortSignal.any([signal, AbortSignal.timeout(PAGES_MS)]);
  const readOne = async (hit: Hit): Promise<ReadHit> => {
    const page = await getPage(hit.url, deadline).catch((error: unknown) => {
      if (error instanceof SearchFailure || deadline.aborted) return undefined;
      log(`internal error while reading a page:  ${error instanceof Error ? error.stack : String(error)}`);
      return undefined;
    });
    signal.throwIfAborted();
    if (page === undefined || !isAllowed(page.url, filter)) return { ...hit, text: "" };
    return { ...hit, url: page.url, text: page.text };
  };
  return Promise.all(hits.map(readOne));
}
