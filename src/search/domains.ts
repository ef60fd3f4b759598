// Which hosts a request lets its searches go to.

import type { DomainFilter } from "./types.ts";

/** The host of an address as people say it: lower case, without `www.` and a last dot; undefined for no address. */
function hostOf(url: string): string | undefined {
  const host = URL.parse(url)
    ?.hostname.replace(/^www\./, "")
    .replace(/\.$/, "");
  return host === "" ? undefined : host;
}

/** Whether an address may be read. Without a host it may not. */
export function isAllowed(url: string, { allowed, blocked }: DomainFilter): boolean {
  const host = hostOf(url);
  if (host === undefined) return false;
  const isWithin = (domain: string): boolean => {
    const name = hostOf(domain.includes("://") ? domain : `http://${domain.replace(/^\*\./, "")}`);
    return name !== undefined && (host === name || host.endsWith(`.${name}`));
  };
  return (allowed.length === 0 || allowed.some(isWithin)) && !blocked.some(isWithin);
}

/** Hosts without repetition, in order. */
export function hostsOf(urls: readonly string[]): readonly string[] {
  return [...new Set(urls.flatMap((url) => hostOf(url) ?? []))];
}
