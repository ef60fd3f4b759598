// Control data of messages that the network guard sends in place of a confined process: descriptors become the guard's own
// duplicates, and what could change a packet's way is refused.

import { call, ERRNO, SOL_SOCKET } from "./guard-system.ts";
import { FAMILY } from "./guard-addresses.ts";
import type { Target } from "./guard-target.ts";

const HEADER_BYTES = 16; // struct cmsghdr
const SCM_RIGHTS = 1;
const SCM_CREDENTIALS = 2;
const DESCRIPTORS_MAX = 253;

/** Level and type of what may accompany a datagram: its source, hop limit, class of service, segments; no routes. */
const INET: readonly (readonly [level: number, type: number])[] = [
  [0, 8], // IP_PKTINFO
  [0, 2], // IP_TTL
  [0, 1], // IP_TOS
  [41, 50], // IPV6_PKTINFO
  [41, 52], // IPV6_HOPLIMIT
  [41, 67], // IPV6_TCLASS
  [17, 103], // UDP_SEGMENT
];

interface Control {
  /** Absent without one. */
  readonly bytes?: Uint8Array;
  /** Closes duplicates once they have been sent. */
  readonly close: () => void;
}

/** Control data as the guard can send it, or the negative error. */
export function passableControl(
  control: Buffer | undefined,
  domain: number,
  target: Target,
): Control | number {
  const opened: number[] = [];
  const close = (): void => {
    for (const fd of opened.splice(0)) call("close", fd);
  };
  if (control === undefined || domain === FAMILY.netlink) return { close };
  const parts: Buffer[] = [];
  for (let at = 0; at + HEADER_BYTES <= control.byteLength;) {
    const bytes = Number(control.readBigUInt64LE(at));
    if (bytes < HEADER_BYTES || at + bytes > control.byteLength) break;
    const part = Buffer.alloc(padded(bytes));
    part.set(control.subarray(at, at + bytes));
    at += padded(bytes);
    const [level, type] = [part.readInt32LE(8), part.readInt32LE(12)];
    if (domain !== FAMILY.unix) {
      if (!INET.some(([l, t]) => l === level && t === type)) return -ERRNO.EPERM;
    } else if (level === SOL_SOCKET && type === SCM_RIGHTS) {
      const error = duplicateAll(part, (bytes - HEADER_BYTES) >> 2, target, opened);
      if (error < 0) {
        close();
        return error;
      }
    } else if (level === SOL_SOCKET && type === SCM_CREDENTIALS) {
      continue; // the kernel would compare them with the guard's own
    }
    parts.push(part);
  }
  return parts.length === 0 ? { close } : { bytes: Buffer.concat(parts), close };
}

function duplicateAll(part: Buffer, count: number, target: Target, opened: number[]): number {
  if (count > DESCRIPTORS_MAX) return -ERRNO.EINVAL;
  for (let index = 0; index < count; index++) {
    const offset = HEADER_BYTES + 4 * index;
    const copy = target.duplicate(part.readInt32LE(offset));
    if (copy < 0) return copy;
    opened.push(copy);
    part.writeInt32LE(copy, offset);
  }
  return 0;
}

function padded(bytes: number): number {
  return (bytes + 7) & ~7;
}
