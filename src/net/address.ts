// Classifies IP addresses that are written as text.

import ipaddr from "ipaddr.js";
import { type Reach, reachOf } from "../core/networks.ts";

/** Reach of an IP address; `never` for other texts. */
export function addressReach(text: string): Reach {
  return ipaddr.isValid(text) ? reachOf(Uint8Array.from(ipaddr.parse(text).toByteArray())) : "never";
}

/** Whether a text is a public IP address. */
export function isPublicAddress(text: string): boolean {
  return addressReach(text) === "public";
}

export function isLoopbackAddress(text: string): boolean {
  return ipaddr.isValid(text) && ipaddr.parse(text).range() === "loopback";
}
