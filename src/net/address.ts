// Classifies IP addresses: public internet, or else this machine, private networks and reserved ranges.

import ipaddr from "ipaddr.js";

/** The only IPv6 block allocated for the internet. Ranges within it that embed IPv4 addresses are classified separately. */
const GLOBAL_IPV6 = ipaddr.parseCIDR("2000::/3");

/** Whether a text is a public IP address. */
export function isPublicAddress(text: string): boolean {
  if (!ipaddr.isValid(text)) return false;
  const address = ipaddr.parse(text);
  if (address.range() !== "unicast") return false;
  return address.kind() === "ipv4" || address.match(GLOBAL_IPV6);
}

export function isLoopbackAddress(text: string): boolean {
  return ipaddr.isValid(text) && ipaddr.parse(text).range() === "loopback";
}
