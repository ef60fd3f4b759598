// The one decision whether a request may be answered: its Host, the process that sent it, the name it was sent to, the page it comes
// from, its key. What each route asks for is in route-rules.ts; the route is the one of the path that the router sees.
// The Host check alone would not do: programs in containers and behind proxies use names that svc cannot know.

import type { Account } from "../core/account.ts";
import { ServiceError } from "../core/error.ts";
import type { HttpDeps } from "./deps.ts";
import { checkKey, checkRole } from "./hooks/api-keys.ts";
import { hostCheck } from "./hooks/hosts.ts";
import { pageCheck, refusePage, signedInPageCheck } from "./hooks/origins.ts";
import { checkPage } from "./hooks/page.ts";
import { refuseToolPeer } from "./hooks/tool-peers.ts";
import { connectionOf } from "./connection.ts";
import type { RouteRule } from "./route-rules.ts";
import { isUsableHost } from "./target.ts";

/** What the decision depends on. */
export type GateDeps = Pick<HttpDeps, "apiKeys" | "hostPolicy" | "originPolicy" | "isToolPeer">;

/** Decides about requests. */
export interface Gate {
  /** Throws for a request of a program, page or client that may not have an answer. */
  check(request: Request, rule: RouteRule): void;
  /** Whether a page may send what it asks for in a preflight. `rule`: that of the announced request. */
  isPageAllowed(request: Request, rule: RouteRule): boolean;
}

/** Makes the decision of a server. */
export function newGate({ apiKeys, hostPolicy, originPolicy, isToolPeer }: GateDeps): Gate {
  const checkHost = hostPolicy === undefined ? undefined : hostCheck(hostPolicy);
  const isPageAllowed = originPolicy === undefined ? undefined : pageCheck(originPolicy);
  const isSignedInPage = signedInPageCheck(originPolicy?.origins ?? []);
  const isLimited = (): boolean => originPolicy?.whileOpen !== true || apiKeys?.isRequired !== true;
  // A key is proof of a page's right; what a browser sends by itself is not.
  const isPageOf = (account: Account | undefined, headers: Headers, rule: RouteRule): boolean => {
    if (account?.isAmbient === true && rule.pages !== "all" && !isSignedInPage(headers)) return false;
    return !isLimited() || (isPageAllowed?.(headers, rule) ?? true);
  };
  return {
    check: (request, rule) => {
      const { headers } = request;
      if (!isUsableHost(headers.get("host"))) throw unusableHost();
      if (isToolPeer !== undefined) refuseToolPeer(isToolPeer, connectionOf(request));
      const isLocked = apiKeys?.isRequired === true;
      if (!rule.anyHost && !isLocked) checkHost?.(headers);
      if (request.method === "OPTIONS") return; // a browser's question, which brings neither key nor header
      const account = isLocked && rule.needsKey ? checkKey(apiKeys, headers, peerOf(request)) : undefined;
      if (!isPageOf(account, headers, rule)) refusePage();
      if (account !== undefined) checkRole(account, rule.role);
      if (rule.isOwnData) checkPage(headers);
    },
    isPageAllowed: ({ headers }, rule) => isPageOf(undefined, headers, rule),
  };
}

function peerOf(request: Request): () => string {
  return () => connectionOf(request)?.peer() ?? "";
}

function unusableHost(): ServiceError {
  const message =
    "the Host header must name one host, with a port or without: a name like localhost:1234, or an address like 127.0.0.1";
  return new ServiceError("invalid_request", message);
}
