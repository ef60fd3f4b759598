// Classifies IP addresses that are written as text.

import ipaddr from "ipaddr.js";
import { reachOf } from "../core/networks.ts";

/** Whether a text is a public IP address. */
export function isPublicAddress(text: string): boolean {
  return ipaddr.isValid(text) && reachOf(Uint8Array.from(ipaddr.parse(text).toByteArray())) === "public";
}

export function isLoopbackAddress(text: string): boolean {
  return ipaddr.isValid(text) && ipaddr.parse(text).range() === "loopback";
}
