// Whether a request comes from this machine. A proxy on this machine speaks for others and connects from loopback all the same: what
// it adds to a request, or the public name that it passes on, gives it away.

import { hostname } from "node:os";
import { isAddressRange } from "../core/address-range.ts";
import { isLoopbackAddress } from "./address.ts";
import { addressesWithin, clientAddresses } from "./client-address.ts";

/** Headers that proxies, tunnels and content networks add: no client sends one by itself. */
const FORWARDED =
  /^(?:forwarded|via|x-forwarded(?:-.+)?|x-(?:real|client|cluster-client|original|remote)-(?:ip|addr|host|uri|url)|(?:true|fastly|fly)-client-ip|cf-.+|cdn-loop|x-(?:amzn?|amz-cf|envoy|azure|appengine|vercel|nf|arr)-.+|tailscale-.+|ngrok-.+)$/;

/** `trusted`: addresses and ranges of proxies whose X-Forwarded-For counts. `peer`: the other end of the connection. */
export function localClients(
  trusted: readonly string[],
): (peer: string | undefined, headers: Headers) => boolean {
  const addressOf = clientAddresses(trusted);
  const isTrusted = addressesWithin(trusted);
  return (peer, headers) => {
    if (peer === undefined) return false;
    const hops = headers.get("x-forwarded-for");
    if (hops !== null && isTrusted(peer))
      return isAddressRange(lastOf(hops)) && isHere(addressOf(peer, headers));
    if (!isHere(addressOf(peer, new Headers())) || !isLocalName(headers.get("host"))) return false;
    return ![...headers.keys()].some((name) => FORWARDED.test(name));
  };
}

/** A canonical client address: of IPv6 the network, which for ::1 is the one of no other machine. */
function isHere(address: string): boolean {
  return address === "::" || isLoopbackAddress(address);
}

function lastOf(hops: string): string {
  return hops.slice(hops.lastIndexOf(",") + 1).trim();
}

/** Names under which this machine reaches itself; HTTP/1.0 needs none. */
function isLocalName(host: string | null): boolean {
  if (host === null) return true;
  const name = host.toLowerCase().replace(/:\d*$/, "").replace(/\.$/, "");
  const own = hostname().toLowerCase();
  if (["localhost", own, `${own}.local`].includes(name) || name.endsWith(".localhost")) return true;
  return isLoopbackAddress(name.replace(/^\[|\]$/g, ""));
}
