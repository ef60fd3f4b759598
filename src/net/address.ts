// Which addresses are the public internet's. Everything else is this machine, this network, or nobody's.

import ipaddr from "ipaddr.js";

/** Of IPv6 only this block has been given out; addresses that hide an IPv4 address inside it are told apart by range. */
const GLOBAL_IPV6 = ipaddr.parseCIDR("2000::/3");

/** Whether an IP address, as text, is a public one. False for what is no address. */
export function isPublicAddress(text: string): boolean {
  if (!ipaddr.isValid(text)) return false;
  const address = ipaddr.parse(text);
  if (address.range() !== "unicast") return false;
  return address.kind() === "ipv4" || address.match(GLOBAL_IPV6);
}

export function isLoopbackAddress(text: string): boolean {
  return ipaddr.isValid(text) && ipaddr.parse(text).range() === "loopback";
}
