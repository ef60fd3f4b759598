// A person signs in to a remote MCP server: a page of the server in any browser, which leads back to an address of this machine,
// or to an address that the person copies from a browser elsewhere (RFC 8252, Loopback Interface Redirection).

import {
  auth,
  computeScopeUnion,
  extractWWWAuthenticateParams,
  OAuthError,
} from "@modelcontextprotocol/client";
import { reasonOf } from "../core/reason.ts";
import { defined } from "../core/defined.ts";
import type { OAuthClient } from "../core/mcp-config.ts";
import { VERSION } from "../core/version.ts";
import { visibleLine } from "../core/visible-text.ts";
import { boundedFetch, type Fetch } from "./bounded-fetch.ts";
import { McpFailure } from "./failure.ts";
import { MCP_CONNECT_MS } from "./limits.ts";
import type { SignIns } from "./sign-in.ts";

export interface LoginDeps {
  readonly signIns: SignIns;
  /** Shows the page that the person must open. */
  readonly show: (page: string) => void;
  /** Asks for the address that the person copies; never resolves without a terminal. */
  readonly copied: () => Promise<string>;
  readonly fetch?: Fetch;
  /** Registered by the operator; absent: svc registers itself. */
  readonly client?: OAuthClient;
  readonly signal: AbortSignal;
}

const CALLBACK = "/callback";
const DONE = "You are signed in. You can close this page and return to the terminal.";
const FAILED = "The sign-in has failed. The terminal says why.";
const FOREIGN = "This page belongs to another sign-in. Start again in the terminal.";

/** Signs in at a server's address. Throws McpFailure with the reason, or the signal's. */
export async function logIn(url: string, deps: LoginDeps): Promise<void> {
  const { signIns, show, copied, client, signal } = deps;
  const answered = Promise.withResolvers<URLSearchParams>();
  const ended = Promise.withResolvers<boolean>();
  const listener = Bun.serve({
    hostname: "127.0.0.1",
    port: client?.callback_port ?? 0,
    fetch: async (request, server) => {
      const { pathname, searchParams } = new URL(request.url);
      if (pathname !== CALLBACK) return new Response(null, { status: 404 });
      if (searchParams.get("state") !== signIn.state()) return new Response(FOREIGN, { status: 400 });
      server.timeout(request, 0); // it is answered when the code is exchanged
      answered.resolve(searchParams);
      return (await ended.promise) ? new Response(DONE) : new Response(FAILED, { status: 400 });
    },
  });
  const redirect = {
    url: `http://127.0.0.1:${listener.port}${CALLBACK}`,
    open: (page: URL) => show(page.href),
  };
  const signIn = signIns.begin(url, redirect, client);
  const request = boundedFetch(deps.fetch ?? fetch);
  const fetchFn = (to: string | URL, init?: RequestInit) => request(to, { ...init, signal });
  const aborted = Promise.withResolvers<never>();
  aborted.promise.catch(() => {}); // it may come while nothing waits for it
  const abort = (): void => aborted.reject(signal.reason);
  signal.addEventListener("abort", abort, { once: true });
  let isDone = false;
  try {
    const { resourceMetadataUrl, scope } = await challengeOf(url, request, signal);
    const wanted = computeScopeUnion(scope, signIns.wantedScope(url));
    const options = { serverUrl: url, fetchFn, ...defined({ resourceMetadataUrl, scope: wanted }) };
    await auth(signIn, options);
    const typed = copied().then((address) => answerOf(address.trim(), signIn.state()));
    const answer = await Promise.race([answered.promise, typed, aborted.promise]);
    const code = answer.get("code");
    if (code === null) throw new McpFailure(`the server refused: ${refusalIn(answer)}`);
    const iss = answer.get("iss");
    await auth(signIn, { ...options, authorizationCode: code, ...(iss === null ? {} : { iss }) });
    isDone = true;
  } catch (error) {
    signal.throwIfAborted();
    if (error instanceof McpFailure) throw error;
    const why = error instanceof OAuthError ? error.message : reasonOf(error);
    throw new McpFailure(`the server offers no sign-in that svc can use: ${visibleLine(why)}`, {
      cause: error,
    });
  } finally {
    ended.resolve(isDone);
    signal.removeEventListener("abort", abort);
    await listener.stop(false); // the page's last answer is on its way
  }
}

/** What the server says to a request without a token: where its metadata are, and the scopes that it wants (MCP 2025-11-25). */
async function challengeOf(
  url: string,
  request: Fetch,
  signal: AbortSignal,
): Promise<{ readonly resourceMetadataUrl?: URL; readonly scope?: string }> {
  const limit = AbortSignal.timeout(MCP_CONNECT_MS);
  const params = {
    protocolVersion: "2025-11-25",
    capabilities: {},
    clientInfo: { name: "svc", version: VERSION },
  };
  const response = await request(url, {
    method: "POST",
    headers: { "content-type": "application/json", accept: "application/json, text/event-stream" },
    body: JSON.stringify({ jsonrpc: "2.0", id: 1, method: "initialize", params }),
    signal: AbortSignal.any([signal, limit]),
  });
  await response.body?.cancel();
  if (response.status !== 401 && response.status !== 403) return {};
  const { resourceMetadataUrl, scope } = extractWWWAuthenticateParams(response);
  return defined({ resourceMetadataUrl, scope });
}

function refusalIn(answer: URLSearchParams): string {
  return visibleLine(answer.get("error_description") ?? answer.get("error") ?? "it gave no reason");
}

function answerOf(address: string, state: string): URLSearchParams {
  const query = URL.canParse(address) ? new URL(address).searchParams : new URLSearchParams();
  if (query.get("state") === state) return query;
  throw new McpFailure(
    "this is not the address that the browser was led to; start again and copy the whole of it",
  );
}
