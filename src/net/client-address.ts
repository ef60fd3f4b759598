// Which client a request comes from, behind proxies or not. Only a trusted proxy's word counts: anybody can send
// X-Forwarded-For.

import ipaddr from "ipaddr.js";

type Range = ReturnType<typeof ipaddr.parseCIDR>;

/** Bits of an IPv6 address that one client has for itself at least: it may use any address below them. */
const IPV6_CLIENT_BITS = 64;

/** Whether a text names an address or a range of them: `10.0.0.5`, `10.0.0.0/8`, `fd00::/8`. */
export function isAddressRange(text: string): boolean {
  return ipaddr.isValid(text) || ipaddr.isValidCIDR(text);
}

/**
 * Makes the function that names a request's client. `trusted`: addresses and ranges of proxies. The last address of
 * X-Forwarded-For that is none of theirs is the client's.
 */
export function clientAddresses(trusted: readonly string[]): (peer: string, headers: Headers) => string {
  const ranges = trusted.map(rangeOf);
  const isTrusted = (text: string): boolean => {
    if (!ipaddr.isValid(text)) return false;
    const address = ipaddr.process(text);
    return ranges.some((range) => address.kind() === range[0].kind() && address.match(range));
  };
  return (peer, headers) => {
    let address = peer;
    if (ranges.length > 0 && isTrusted(peer)) {
      const hops = (headers.get("x-forwarded-for") ?? "").split(",").map((hop) => hop.trim());
      for (let hop = hops.pop(); hop !== undefined && ipaddr.isValid(hop); hop = hops.pop()) {
        address = hop;
        if (!isTrusted(hop)) break;
      }
    }
    return nameOf(address);
  };
}

function rangeOf(text: string): Range {
  if (ipaddr.isValidCIDR(text)) return ipaddr.parseCIDR(text);
  const address = ipaddr.process(text);
  return [address, address.kind() === "ipv4" ? 32 : 128];
}

/** One name for all addresses of a client. */
function nameOf(text: string): string {
  if (!text.includes(":") || !ipaddr.isValid(text)) return text;
  const address = ipaddr.process(text); // IPv4 within IPv6 becomes IPv4
  if (address.kind() === "ipv4") return address.toString();
  const bytes = address.toByteArray().map((byte, index) => (index < IPV6_CLIENT_BITS / 8 ? byte : 0));
  return ipaddr.fromByteArray(bytes).toString();
}
