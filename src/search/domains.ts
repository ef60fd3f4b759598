// Domain filter of a request: which hosts searches and pages may use.

import type { DomainFilter } from "./types.ts";

/** Normalized host of a URL: lower case, without `www.` and trailing dot; undefined for an invalid URL. */
function hostOf(url: string): string | undefined {
  const host = URL.parse(url)
    ?.hostname.replace(/^www\./, "")
    .replace(/\.$/, "");
  return host === "" ? undefined : host;
}

/** Whether the filter permits a URL. False without a host. */
export function isAllowed(url: string, { allowed, blocked }: DomainFilter): boolean {
  const host = hostOf(url);
  if (host === undefined) return false;
  const isWithin = (domain: string): boolean => {
    const name = hostOf(domain.includes("://") ? domain : `http://${domain.replace(/^\*\./, "")}`);
    return name !== undefined && (host === name || host.endsWith(`.${name}`));
  };
  return (allowed.length === 0 || allowed.some(isWithin)) && !blocked.some(isWithin);
}

/** Unique hosts, in order. */
export function hostsOf(urls: readonly string[]): readonly string[] {
  return [...new Set(urls.flatMap((url) => hostOf(url) ?? []))];
}
