// Sockets of the network that this process is in, from the kernel's socket diagnosis (sock_diag(7)).

import { call, must } from "./guard-system.ts";

const NETLINK = 16;
const SOCK_RAW_CLOSED_ON_EXECUTION = 3 | 0o2_000_000;
const SOCK_DIAG = 4;
const BY_FAMILY = 20;
const DUMP_REQUEST = 0x301;
const NLMSG_ERROR = 2;
const NLMSG_DONE = 3;
const ANSWER_BYTES = 1 << 16;

/** Bodies of the answers to a request for all sockets of its kind; undefined where the kernel lacks this diagnosis. */
export function diagnosis(body: Buffer): readonly Buffer[] | undefined {
  const fd = call("socket", NETLINK, SOCK_RAW_CLOSED_ON_EXECUTION, SOCK_DIAG);
  if (fd < 0) return undefined;
  try {
    const request = Buffer.alloc(16 + body.byteLength);
    request.writeUInt32LE(request.byteLength, 0);
    request.writeUInt16LE(BY_FAMILY, 4);
    request.writeUInt16LE(DUMP_REQUEST, 6);
    request.set(body, 16);
    must("sendto", fd, request, request.byteLength, 0, 0, 0);
    return answers(fd);
  } finally {
    call("close", fd);
  }
}

function answers(fd: number): readonly Buffer[] | undefined {
  const found: Buffer[] = [];
  for (;;) {
    const answer = Buffer.alloc(ANSWER_BYTES);
    const bytes = must("recvfrom", fd, answer, ANSWER_BYTES, 0, 0, 0);
    for (let at = 0; at + 16 <= bytes;) {
      const length = answer.readUInt32LE(at);
      const type = answer.readUInt16LE(at + 4);
      if (type === NLMSG_ERROR) return undefined;
      if (type === NLMSG_DONE || length < 16) return found;
      found.push(answer.subarray(at + 16, at + length));
      at += (length + 3) & ~3;
    }
  }
}
