// Classifies IP addresses that are written as text.

import { networkInterfaces } from "node:os";
import ipaddr from "ipaddr.js";
import { type Reach, reachOf } from "../core/networks.ts";

/** Addresses of this machine with the networks that they are in, as `node:os` has them. */
export type Interfaces = Readonly<
  Record<string, readonly { readonly address: string; readonly cidr: string | null }[] | undefined>
>;

/**
 * Reach of an IP address; `never` for other texts. A public address may be this machine's own, or on its network, as with IPv6: there
 * no firewall stands between it and what it serves.
 */
export function addressReach(text: string, interfaces: () => Interfaces = networkInterfaces): Reach {
  if (!ipaddr.isValid(text)) return "never";
  const address = ipaddr.parse(text);
  const reach = reachOf(Uint8Array.from(address.toByteArray()));
  if (reach !== "public") return reach;
  const own = Object.values(interfaces()).flatMap((all) => all ?? []);
  if (own.some((one) => ipaddr.isValid(one.address) && isSame(ipaddr.parse(one.address), address)))
    return "machine";
  return own.some(({ cidr }) => cidr !== null && isWithin(address, cidr)) ? "local" : "public";
}

type Address = ReturnType<typeof ipaddr.parse>;

function isSame(one: Address, other: Address): boolean {
  return one.toNormalizedString() === other.toNormalizedString();
}

function isWithin(address: Address, cidr: string): boolean {
  const [network, bits] = ipaddr.parseCIDR(cidr);
  return network.kind() === address.kind() && address.match(network, bits);
}

/** Whether a text is a public IP address. */
export function isPublicAddress(text: string): boolean {
  return addressReach(text) === "public";
}

export function isLoopbackAddress(text: string): boolean {
  return ipaddr.isValid(text) && ipaddr.parse(text).range() === "loopback";
}
