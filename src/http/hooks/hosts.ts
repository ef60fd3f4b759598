// Under which names the server answers. A browser takes a page of evil.example and this server for one site once evil.example
// points here (DNS rebinding); the Host header gives it away. Knows nothing of keys.

import { isIP } from "node:net";
import { ServiceError } from "../../core/error.ts";

export interface HostPolicy {
  /** Names besides the usual ones; `*.example.org` stands for all below it, `*` for all. */
  readonly allowed: readonly string[];
  /** Names of this machine. */
  readonly own: readonly string[];
}

/** Suffixes that cannot be registered: local networks, containers, clusters. */
const LOCAL_SUFFIXES = ["localhost", "local", "lan", "home.arpa", "internal", "svc.cluster.local"];

/** Probes come with the name of whatever balances the load. */
const OPEN_PATHS: ReadonlySet<string> = new Set(["/", "/health", "/ready"]);

/** Makes the check: it throws `host_not_allowed` for a request to another name. Requests without a Host come from programs. */
export function hostCheck({ allowed, own }: HostPolicy): (request: Request, path: string) => void {
  const wanted = [...allowed, ...own].map((name) => name.toLowerCase());
  const suffixes = [
    ...LOCAL_SUFFIXES,
    ...wanted.flatMap((name) => (name.startsWith("*.") ? [name.slice(2)] : [])),
  ];
  const names = new Set(wanted);
  if (names.has("*")) return () => undefined;
  return ({ headers }, path) => {
    const host = headers.get("host");
    if (host === null || OPEN_PATHS.has(path)) return;
    const name = nameOf(host);
    if (isAddress(name) || !name.includes(".") || names.has(name)) return;
    if (suffixes.some((suffix) => name.endsWith(`.${suffix}`))) return;
    const message =
      "this server does not accept this host name; add it to server.allowed_hosts, or set server.api_keys";
    throw new ServiceError("host_not_allowed", message);
  };
}

/** The header without its port and the dot that may end a full name. */
function nameOf(host: string): string {
  return host.replace(/:\d*$/, "").replace(/\.$/, "").toLowerCase();
}

function isAddress(name: string): boolean {
  return isIP(name.replace(/^\[|\]$/g, "")) !== 0;
}
