// Which web pages may use the server. Any page that a browser shows can send requests to this machine, under its own name or
// under one that it lets point here; the Origin header gives it away, which browsers send with every request that changes
// something. Programs send none.

import { isIP } from "node:net";
import { ServiceError } from "../../core/error.ts";

export interface OriginPolicy {
  /** Origins that may besides: `https://app.example`. */
  readonly origins: readonly string[];
  /** Names of this machine that nobody else can give out. */
  readonly hosts: readonly string[];
}

const LOOPBACK: ReadonlySet<string> = new Set(["localhost", "127.0.0.1", "[::1]"]);

/** Makes the check: it throws `origin_not_allowed` for a request of another page. */
export function originCheck({ origins, hosts }: OriginPolicy): (request: Request) => void {
  const allowed = new Set(origins.map((origin) => origin.toLowerCase().replace(/\/$/, "")));
  const own = new Set(hosts.map((host) => host.toLowerCase()));
  return ({ headers }) => {
    const origin = headers.get("origin");
    if (origin === null || allowed.has(origin.toLowerCase())) return;
    if (URL.canParse(origin) && isHere(new URL(origin), own, headers.get("host"))) return;
    const message =
      "pages of this origin may not use this server; name it in server.allowed_origins, or set server.api_keys";
    throw new ServiceError("origin_not_allowed", message);
  };
}

/** A page of this machine. One that was fetched by address came from that address; a name can point anywhere. */
function isHere({ hostname, host }: URL, own: ReadonlySet<string>, asked: string | null): boolean {
  if (LOOPBACK.has(hostname) || own.has(hostname)) return true;
  return isIP(hostname.replace(/^\[|\]$/g, "")) !== 0 && host === asked;
}
