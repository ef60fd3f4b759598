// Which web pages may use the server. Any page that a browser shows can send requests to this machine, under its own name or
// under one that it lets point here. Browsers give it away by the Origin header, which they send with every request that changes
// something, and by Sec-Fetch-Site, which they send with images and links too. Programs send neither.

import { ServiceError } from "../../core/error.ts";
import type { RouteRule } from "../route-rules.ts";
import { acceptedName, nameOf } from "./hosts.ts";

export interface OriginPolicy {
  /** Holds only while no key is needed, and for who needs none because a proxy vouches for them. */
  readonly whileOpen?: boolean;
  /** Origins that may besides: `https://app.example`. */
  readonly origins: readonly string[];
  /** Names of this server that third parties cannot assign; `*.example.org` stands for all below it. */
  readonly hosts: readonly string[];
  /** Which routes are for pages of other origins: none, or those whose rule says so. */
  readonly foreign: "none" | "inference";
  /**
   * Whether pages of this machine's other ports count as its own. Not where models act: what they run may listen there, or a person
   * may have been asked to open it.
   */
  readonly otherPorts: boolean;
}

const LOOPBACK = ["localhost", "127.0.0.1", "[::1]"];
const WEB: ReadonlySet<string> = new Set(["http:", "https:"]);

/** What browsers say of a request that a page of another origin caused; `none` is a person's own doing. */
const FOREIGN_SITES: ReadonlySet<string> = new Set(["cross-site", "same-site"]);

/** Decides about a request for a route: whether its page, if it has one, may send it. */
export type PageCheck = (headers: Headers, rule: RouteRule) => boolean;

/** Makes the decision. */
export function pageCheck(policy: OriginPolicy): PageCheck {
  const allowed = new Set(policy.origins.map((origin) => origin.toLowerCase().replace(/\/$/, "")));
  const isOwn = ownPages(policy);
  return (headers, { pages }) => {
    const origin = headers.get("origin")?.toLowerCase();
    if (origin === undefined)
      return pages !== "none" || !FOREIGN_SITES.has(headers.get("sec-fetch-site") ?? "");
    if (pages === "all" || (pages === "inference" && policy.foreign !== "none")) return true;
    if (allowed.has(origin)) return true;
    return URL.canParse(origin) && isOwn(new URL(origin), headers.get("host")?.toLowerCase());
  };
}

/**
 * The same for what a browser signs in by itself: pages of the name that was asked, which a proxy answers for, and no others but the
 * named ones.
 */
export function signedInPageCheck(origins: readonly string[]): (headers: Headers) => boolean {
  const allowed = new Set(origins.map((origin) => origin.toLowerCase().replace(/\/$/, "")));
  return (headers) => {
    const origin = headers.get("origin")?.toLowerCase();
    if (origin === undefined) return !FOREIGN_SITES.has(headers.get("sec-fetch-site") ?? "");
    if (allowed.has(origin)) return true;
    return URL.canParse(origin) && new URL(origin).host === headers.get("host")?.toLowerCase();
  };
}

/** Throws `origin_not_allowed` for a request of another page. */
export function refusePage(): never {
  const message =
    "pages of this origin may not use this route of this server; add it to --allowed-origins, or set --api-keys";
  throw new ServiceError("origin_not_allowed", message);
}

/**
 * Recognizes pages of this server. Its names stand for each other, as long as the port is the one that the request was sent to, which
 * something may forward to the server's own. A page that was fetched by address or another accepted name came from just there.
 */
function ownPages({ hosts, otherPorts }: OriginPolicy): (page: URL, asked: string | undefined) => boolean {
  const isAccepted = acceptedName(hosts);
  const own = new Set([...LOOPBACK, ...hosts.map((host) => host.toLowerCase())]);
  return ({ hostname, host, protocol }, asked) => {
    if (otherPorts && own.has(hostname)) return true;
    if (asked === undefined || !WEB.has(protocol)) return false;
    if (host === asked) return isAccepted(hostname);
    return own.has(hostname) && own.has(nameOf(asked)) && portOf(host, protocol) === portOf(asked, protocol);
  };
}

function portOf(host: string, protocol: string): string {
  const port = /:(\d+)$/.exec(host)?.[1];
  return port ?? (protocol === "https:" ? "443" : "80");
}
