// A person signs in to a remote MCP server: a page of the server in any browser, which leads back to an address of this machine,
// or to an address that the person copies from a browser elsewhere (RFC 8252, Loopback Interface Redirection).

import { auth, OAuthError } from "@modelcontextprotocol/client";
import { reasonOf } from "../core/reason.ts";
import { boundedFetch, type Fetch } from "./bounded-fetch.ts";
import { McpFailure } from "./failure.ts";
import type { SignIns } from "./sign-in.ts";

export interface LoginDeps {
  readonly signIns: SignIns;
  /** Shows the page that the person must open. */
  readonly show: (page: string) => void;
  /** Asks for the address that the person copies; never resolves without a terminal. */
  readonly copied: () => Promise<string>;
  readonly fetch?: Fetch;
  readonly signal: AbortSignal;
}

const CALLBACK = "/callback";
const DONE = "You are signed in. You can close this page and return to the terminal.";
const FOREIGN = "This page belongs to another sign-in. Start again in the terminal.";

/** Signs in at a server's address. Throws McpFailure with the reason, or the signal's. */
export async function logIn(url: string, deps: LoginDeps): Promise<void> {
  const { signIns, show, copied, signal } = deps;
  const answered = Promise.withResolvers<URLSearchParams>();
  const listener = Bun.serve({
    hostname: "127.0.0.1",
    port: 0,
    fetch: (request) => {
      const { pathname, searchParams } = new URL(request.url);
      if (pathname !== CALLBACK) return new Response(null, { status: 404 });
      const isOwn = searchParams.get("state") === signIn.state();
      if (isOwn) answered.resolve(searchParams);
      return new Response(isOwn ? DONE : FOREIGN, { status: isOwn ? 200 : 400 });
    },
  });
  const redirect = {
    url: `http://127.0.0.1:${listener.port}${CALLBACK}`,
    open: (page: URL) => show(page.href),
  };
  const signIn = signIns.begin(url, redirect);
  const request = boundedFetch(deps.fetch ?? fetch);
  const options = {
    serverUrl: url,
    fetchFn: (to: string | URL, init?: RequestInit) => request(to, { ...init, signal }),
  };
  const aborted = Promise.withResolvers<never>();
  aborted.promise.catch(() => {}); // it may come while nothing waits for it
  const abort = (): void => aborted.reject(signal.reason);
  signal.addEventListener("abort", abort, { once: true });
  try {
    await auth(signIn, options);
    const typed = copied().then((address) => answerOf(address.trim(), signIn.state()));
    const answer = await Promise.race([answered.promise, typed, aborted.promise]);
    const code = answer.get("code");
    if (code === null)
      throw new McpFailure(`the server refused: ${answer.get("error_description") ?? answer.get("error")}`);
    const iss = answer.get("iss");
    await auth(signIn, { ...options, authorizationCode: code, ...(iss === null ? {} : { iss }) });
  } catch (error) {
    signal.throwIfAborted();
    if (error instanceof McpFailure) throw error;
    const why = error instanceof OAuthError ? error.message : reasonOf(error);
    throw new McpFailure(`the server offers no sign-in that svc can use: ${why}`, { cause: error });
  } finally {
    signal.removeEventListener("abort", abort);
    await listener.stop(false); // the page's last answer is on its way
  }
}

function answerOf(address: string, state: string): URLSearchParams {
  const query = URL.canParse(address) ? new URL(address).searchParams : new URLSearchParams();
  if (query.get("state") === state) return query;
  throw new McpFailure(
    "this is not the address that the browser was led to; start again and copy the whole of it",
  );
}
