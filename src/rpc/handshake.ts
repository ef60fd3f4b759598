// Handshake between svc and an RPC worker, before llama.cpp's own protocol, which trusts its peer:
//
//   worker  svc-rpc 1 RELEASE NONCE\n
//   svc     MODE PROOF\n              PROOF = HMAC-SHA-256(token, "NONCE MODE"), hexadecimal
//   worker  ok\n  or  refused REASON\n
//
// The token itself never crosses the network. After `ok` the connection carries llama.cpp's protocol (mode `rpc`), or
// returns every byte (mode `echo`). Pure: no sockets here.

import { createHmac, randomBytes, timingSafeEqual } from "node:crypto";

const MAGIC = "svc-rpc";
const VERSION = "1";

/** Purpose of a connection. */
export type Mode = "rpc" | "echo";

/** The worker's first line. */
export interface Greeting {
  /** Release of the worker's native libraries; both ends must have the same. */
  readonly release: string;
  readonly nonce: string;
}

/** A nonce for one connection: 128 random bits. */
export function newNonce(): string {
  return randomBytes(16).toString("hex");
}

export function greetingLine({ release, nonce }: Greeting): string {
  return `${MAGIC} ${VERSION} ${release} ${nonce}`;
}

/** Reads the worker's first line; undefined when it is not one. */
export function parseGreeting(line: string): Greeting | undefined {
  const [magic, version, release, nonce] = line.split(" ");
  if (magic !== MAGIC || version !== VERSION || release === undefined || nonce === undefined)
    return undefined;
  return { release, nonce };
}

/** The client's line. `token` is empty where the worker has none. */
export function proofLine(mode: Mode, nonce: string, token: string): string {
  return `${mode} ${proof(mode, nonce, token)}`;
}

/** The mode of a client that knows the token; undefined otherwise. */
export function provenMode(line: string, nonce: string, token: string): Mode | undefined {
  const [mode, given = ""] = line.split(" ");
  if (mode !== "rpc" && mode !== "echo") return undefined;
  const expected = Buffer.from(proof(mode, nonce, token));
  const actual = Buffer.from(given);
  return actual.length === expected.length && timingSafeEqual(actual, expected) ? mode : undefined;
}

function proof(mode: Mode, nonce: string, token: string): string {
  return createHmac("sha256", token).update(`${nonce} ${mode}`).digest("hex");
}
