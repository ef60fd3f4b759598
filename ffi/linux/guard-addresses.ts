// Which addresses belong to this machine, as its kernel routes them. A route lookup knows what a list of interfaces does
// not: secondary addresses, local routes of whole networks, broadcast addresses.

import { readFileSync } from "node:fs";
import { embeddedAddresses, reachOf } from "../../src/core/networks.ts";
import { ERRNO, must } from "./guard-system.ts";

export const FAMILY = { unspecified: 0, unix: 1, inet: 2, inet6: 10, netlink: 16 } as const;

/** An internet address with its port. */
export interface Destination {
  readonly family: 4 | 6;
  /** 4 or 16 bytes. An IPv4 address in IPv6 clothes is an IPv4 address here. */
  readonly address: Buffer;
  readonly port: number;
}

/** `outside`: another machine. `here`: this one. `refused`: link-local, broadcast, multicast. Or an error of the kernel. */
export type Place = "outside" | "here" | "refused" | { readonly error: number };

const IPV4_MAPPED = Buffer.from("00000000000000000000ffff", "hex");
/** Reads a sockaddr; undefined where it is none of the internet, or too short. */
export function destinationOf(bytes: Buffer): Destination | undefined {
  if (bytes.byteLength < 16) return undefined;
  const family = bytes.readUInt16LE(0);
  const port = bytes.readUInt16BE(2);
  if (family === FAMILY.inet) return { family: 4, address: bytes.subarray(4, 8), port };
  if (family !== FAMILY.inet6 || bytes.byteLength < 24) return undefined;
  const address = bytes.subarray(8, 24);
  const isMapped = address.subarray(0, 12).equals(IPV4_MAPPED);
  return isMapped ? { family: 4, address: address.subarray(12), port } : { family: 6, address, port };
}

/** Where a packet to this address would go. */
export function placeOf({ family, address }: Destination): Place {
  const reach = reachOf(address);
  if (reach === "machine") return "here";
  if (reach === "never") return "refused";
  if (family === 4) return routed(FAMILY.inet, address);
  const isHereInside = embeddedAddresses(address).some((inner) => routed(FAMILY.inet, inner) === "here");
  return isHereInside ? "refused" : routed(FAMILY.inet6, address);
}

/** Whether this is a name server of the machine's own configuration, which may run on the machine itself. */
export function isNameServer({ address, port, family }: Destination): boolean {
  if (port !== 53 || family !== 4) return false;
  const text = [...address].join(".");
  try {
    const servers = readFileSync("/etc/resolv.conf", "latin1").matchAll(/^\s*nameserver\s+(\S+)/gm);
    return [...servers].some(([, server]) => server === text);
  } catch {
    return false;
  }
}

// linux/rtnetlink.h
const SOCK_RAW_CLOSED_ON_EXECUTION = 3 | 0o2_000_000;
const RTM_GETROUTE = 26;
const REQUEST = 1;
const DESTINATION = 1;
const NLMSG_ERROR = 2;
const ROUTE_TYPE = { unicast: 1, local: 2, unreachable: 7 } as const;

let routes: number | undefined;

function routed(family: number, address: Uint8Array): Place {
  routes ??= must("socket", FAMILY.netlink, SOCK_RAW_CLOSED_ON_EXECUTION, 0);
  const request = Buffer.alloc(32 + address.byteLength);
  request.writeUInt32LE(request.byteLength, 0);
  request.writeUInt16LE(RTM_GETROUTE, 4);
  request.writeUInt16LE(REQUEST, 6);
  request.writeUInt8(family, 16);
  request.writeUInt8(address.byteLength * 8, 17);
  request.writeUInt16LE(4 + address.byteLength, 28);
  request.writeUInt16LE(DESTINATION, 30);
  request.set(address, 32);
  must("sendto", routes, request, request.byteLength, 0, 0, 0);
  const answer = Buffer.alloc(4096);
  must("recvfrom", routes, answer, answer.byteLength, 0, 0, 0);
  if (answer.readUInt16LE(4) === NLMSG_ERROR) return { error: -answer.readInt32LE(16) || ERRNO.EACCES };
  const type = answer.readUInt8(16 + 7);
  if (type === ROUTE_TYPE.unicast) return "outside";
  if (type === ROUTE_TYPE.local) return "here";
  return type === ROUTE_TYPE.unreachable ? { error: 101 } : "refused";
}
