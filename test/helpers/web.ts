// A small internet: hosts with pages and a search engine shaped like SearXNG, all of them this machine. What a host says is
// decided by the path; every name leads to loopback, which only tests can allow.

import { pageGetter } from "../../src/search/page.ts";
import { createReader } from "../../src/search/reader.ts";
import { searxng } from "../../src/search/searxng.ts";
import type { TextBudget } from "../../src/search/types.ts";
import { createWeb, type WebDeps } from "../../src/search/web.ts";
import { publicFetch } from "../../src/net/public-fetch.ts";
import { atEnd } from "./at-end.ts";

export type Site = (request: Request, url: URL) => Response | Promise<Response>;

export interface TestWeb {
  /** Address of a path on a host of that name. */
  at(host: string, path: string): string;
  /** Pages that were asked for: `host/path`. */
  readonly asked: string[];
  /** Queries that the engine got. */
  readonly queries: string[];
  /** Where the engine is. */
  readonly engineUrl: string;
  /** What the engine answers; replace it to change that. */
  engine: Site;
}

export interface TestHit {
  readonly title: string;
  readonly url: string;
  readonly content?: string | null;
}

/** The engine's answer with these hits. */
export function found(...hits: readonly TestHit[]): Site {
  return () => Response.json({ query: "", results: hits, unresponsive_engines: [] });
}

/** A page with an article of that text. */
export function page(title: string, ...paragraphs: readonly string[]): Response {
  const body = paragraphs.map((text) => `<p>${text}</p>`).join("\n");
  const html =
    `<!doctype html><html><head><title>${title}</title></head><body><nav><a href="/">Start</a> <a href="/login">Log in` +
    `</a></nav><article><h1>${title}</h1>${body}</article><footer>All rights reserved.</footer></body></html>`;
  return new Response(html, { headers: { "content-type": "text/html; charset=utf-8" } });
}

/** Serves paths by their first word: `/foo/…` is `sites.foo`. */
export function testWeb(sites: Readonly<Record<string, Site>>): TestWeb {
  const asked: string[] = [];
  const queries: string[] = [];
  const server = Bun.serve({
    port: 0,
    hostname: "127.0.0.1",
    fetch: (request) => {
      const url = new URL(request.url);
      if (url.pathname === "/engine/search") {
        queries.push(url.searchParams.get("q") ?? "");
        return web.engine(request, url);
      }
      const host = request.headers.get("host")?.replace(/:\d+$/, "") ?? "";
      asked.push(host + url.pathname);
      const site = sites[url.pathname.split("/")[1] ?? ""];
      return site?.(request, url) ?? new Response("nothing here", { status: 404 });
    },
  });
  atEnd(() => void server.stop(true));
  const web: TestWeb = {
    at: (host, path) => `http://${host}:${server.port}${path}`,
    asked,
    queries,
    engineUrl: `http://127.0.0.1:${server.port}/engine`,
    engine: found(),
  };
  return web;
}

/** Reaches this machine under every name but `intranet.example`. */
export const fetchHere = publicFetch({
  allowLoopback: true,
  resolve: async (host) => [{ address: host === "intranet.example" ? "10.0.0.1" : "127.0.0.1", family: 4 }],
});

/** The real thing over a small internet. */
export function searcher(web: TestWeb, deps: Partial<WebDeps> = {}) {
  const read = createReader();
  const logged: string[] = [];
  const getPage = pageGetter({ fetchPublic: fetchHere, read });
  const provider = searxng({ url: web.engineUrl });
  return {
    ...createWeb({ provider, getPage, read, log: (line) => void logged.push(line), ...deps }),
    logged,
  };
}

/** A budget in which four characters are a token. */
export function budgetOf(tokensMax: number): TextBudget {
  return { tokensMax, count: async (text) => Math.ceil(text.length / 4) };
}
