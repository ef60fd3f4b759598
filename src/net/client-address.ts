// Client address of a request, also behind proxies. X-Forwarded-For counts only from trusted proxies: any client can send it.

import ipaddr from "ipaddr.js";

type Range = ReturnType<typeof ipaddr.parseCIDR>;

/** Prefix length of IPv6 that identifies a client: it may use any address in that network. */
const IPV6_CLIENT_BITS = 64;

/**
 * Returns the function that computes a request's client address. `trusted`: addresses and ranges of proxies. The client is
 * the last address of X-Forwarded-For that is not trusted.
 */
export function clientAddresses(trusted: readonly string[]): (peer: string, headers: Headers) => string {
  const isTrusted = addressesWithin(trusted);
  return (peer, headers) => {
    let address = peer;
    if (isTrusted(peer)) {
      const hops = (headers.get("x-forwarded-for") ?? "").split(",").map((hop) => hop.trim());
      for (let hop = hops.pop(); hop !== undefined && ipaddr.isValid(hop); hop = hops.pop()) {
        address = hop;
        if (!isTrusted(hop)) break;
      }
    }
    return nameOf(address);
  };
}

/** Recognizes addresses that are among the given ones, or in one of the ranges. */
export function addressesWithin(texts: readonly string[]): (address: string) => boolean {
  const ranges = texts.map(rangeOf);
  return (text) => {
    if (ranges.length === 0 || !ipaddr.isValid(text)) return false;
    const address = ipaddr.process(text);
    return ranges.some((range) => address.kind() === range[0].kind() && address.match(range));
  };
}

function rangeOf(text: string): Range {
  if (ipaddr.isValidCIDR(text)) return ipaddr.parseCIDR(text);
  const address = ipaddr.process(text);
  return [address, address.kind() === "ipv4" ? 32 : 128];
}

/** Canonical name of a client: IPv4 address or IPv6 network. */
function nameOf(text: string): string {
  if (!text.includes(":") || !ipaddr.isValid(text)) return text;
  const address = ipaddr.process(text); // converts IPv4-mapped IPv6 to IPv4
  if (address.kind() === "ipv4") return address.toString();
  const bytes = address.toByteArray().map((byte, index) => (index < IPV6_CLIENT_BITS / 8 ? byte : 0));
  return ipaddr.fromByteArray(bytes).toString();
}
