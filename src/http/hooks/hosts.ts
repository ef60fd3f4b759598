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

/** Makes the check: it throws `host_not_allowed` for a request to another name. Requests without a Host come from programs. */
export function hostCheck({ allowed, own }: HostPolicy): (headers: Headers) => void {
  if (allowed.includes("*")) return () => undefined;
  const isAccepted = acceptedName([...allowed, ...own]);
  return (headers) => {
    const host = headers.get("host");
    if (host === null || isAccepted(nameOf(host))) return;
    const message =
      "this server does not accept this host name; add it to --allowed-hosts, or set --api-keys";
    throw new ServiceError("host_not_allowed", message);
  };
}

/** Recognizes names that third parties cannot let point at this machine, and the given ones. */
export function acceptedName(names: readonly string[]): (name: string) => boolean {
  const wanted = new Set(names.map((name) => name.toLowerCase()));
  const suffixes = [
    ...LOCAL_SUFFIXES,
    ...[...wanted].flatMap((name) => (name.startsWith("*.") ? [name.slice(2)] : [])),
  ];
  return (name) => {
    if (isAddress(name) || !name.includes(".") || wanted.has(name)) return true;
    return suffixes.some((suffix) => name.endsWith(`.${suffix}`));
  };
}

/** A Host header without its port and the dot that may end a full name. */
export function nameOf(host: string): string {
  return host.replace(/:\d*$/, "").replace(/\.$/, "").toLowerCase();
}

function isAddress(name: string): boolean {
  return isIP(name.replace(/^\[|\]$/g, "")) !== 0;
}
