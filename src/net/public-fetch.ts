// Fetches what strangers name: from public addresses only. A host's addresses are looked up once, all of them must be
// public, and the connection goes to one that was checked, so a name cannot mean something else a moment later. Each
// redirect is a new start. node:http instead of fetch because only it lets the caller do the look-up.

import { lookup as lookUp } from "node:dns/promises";
import { request as requestHttp, type IncomingMessage, type RequestOptions } from "node:http";
import { request as requestHttps } from "node:https";
import type { LookupFunction } from "node:net";
import { defined } from "../core/defined.ts";
import { FETCH_MS, FETCH_REDIRECTS_MAX } from "./limits.ts";
import { VERSION } from "../core/version.ts";
import { isLoopbackAddress, isPublicAddress } from "./address.ts";

/** Why nothing was fetched. The message is a sentence for a stranger: it names no address. */
export class FetchError extends Error {
  override readonly name = "FetchError";
}

export interface FetchOptions {
  /** Largest body, bytes. */
  readonly bytesMax: number;
  /** Time for all of it, milliseconds. Default: limits.ts, FETCH_MS. */
  readonly timeoutMs?: number;
  /** Value of the accept header. */
  readonly accept?: string;
}

export interface Fetched {
  /** Where the last redirect led. */
  readonly url: string;
  /** Lower case, without parameters; absent where the server said none. */
  readonly mimeType?: string;
  /** The `charset` parameter of its type, where it has one. */
  readonly charset?: string;
  readonly pieces: readonly Uint8Array<ArrayBuffer>[];
}

/** GETs an http or https address. Throws FetchError. */
export type PublicFetch = (url: string, options: FetchOptions, signal: AbortSignal) => Promise<Fetched>;

interface Address {
  readonly address: string;
  readonly family: number;
}

export interface PublicFetchOptions {
  /** Lets loopback addresses pass. For tests, whose servers have no others; no setting leads here. */
  readonly allowLoopback?: boolean;
  /** How names become addresses; the system's way unless given. */
  readonly resolve?: (host: string) => Promise<readonly Address[]>;
}

/** A fetcher that goes to public addresses alone. */
export function publicFetch(options: PublicFetchOptions = {}): PublicFetch {
  const resolve = options.resolve ?? ((host) => lookUp(host, { all: true }));
  const isAllowed = (address: string): boolean =>
    isPublicAddress(address) || (options.allowLoopback === true && isLoopbackAddress(address));
  const addressesOf = async (host: string): Promise<readonly Address[]> => {
    const found = await resolve(host);
    if (found.length > 0 && found.every(({ address }) => isAllowed(address))) return found;
    throw new FetchError("its host is not on the public internet");
  };
  return async (url, { bytesMax, timeoutMs = FETCH_MS, accept = "*/*" }, signal) => {
    const deadline = AbortSignal.timeout(timeoutMs);
    const either = AbortSignal.any([signal, deadline]);
    try {
      return await unlessAborted(follow(url, { addressesOf, accept, bytesMax, signal: either }), either);
    } catch (error) {
      if (deadline.aborted) throw new FetchError(`it did not arrive within ${timeoutMs / 1000} seconds`);
      if (error instanceof FetchError || signal.aborted) throw error;
      throw new FetchError("its server cannot be reached", { cause: error });
    }
  };
}

interface Hop {
  readonly addressesOf: (host: string) => Promise<readonly Address[]>;
  readonly accept: string;
  readonly bytesMax: number;
  readonly signal: AbortSignal;
}

async function follow(start: string, hop: Hop): Promise<Fetched> {
  let url = checkedUrl(start);
  for (let redirects = 0; redirects <= FETCH_REDIRECTS_MAX; redirects++) {
    const response = await get(url, hop);
    const target = redirectOf(response);
    if (target === undefined) return received(url, response, hop.bytesMax);
    response.destroy();
    url = checkedUrl(target, url);
  }
  throw new FetchError(`it redirects more than ${FETCH_REDIRECTS_MAX} times`);
}

function checkedUrl(text: string, base?: URL): URL {
  const url = URL.parse(text, base?.href);
  if (url === null) throw new FetchError("it is not an address");
  if (url.protocol !== "http:" && url.protocol !== "https:") {
    throw new FetchError("only http and https addresses are fetched");
  }
  if (url.username !== "" || url.password !== "") {
    throw new FetchError("addresses with a user name or password are not fetched");
  }
  return url;
}

/** The response's head, from one of the host's checked addresses. */
async function get(url: URL, { addressesOf, accept, signal }: Hop): Promise<IncomingMessage> {
  const host = url.hostname.replace(/^\[(?<address>.*)\]$/, "$<address>");
  const addresses = await addressesOf(host);
  const options: RequestOptions = {
    method: "GET",
    agent: false, // a kept connection would be one that another look-up had checked
    lookup: pinned(addresses),
    signal,
    headers: { accept, "accept-encoding": "identity", "user-agent": `svc/${VERSION}` },
  };
  return new Promise((resolve, reject) => {
    const request = url.protocol === "https:" ? requestHttps : requestHttp;
    request(url, options, resolve).on("error", reject).end();
  });
}

/** Whatever is asked for, the answer is what was checked. */
function pinned(addresses: readonly Address[]): LookupFunction {
  return (_host, { all }, callback) => {
    const [first] = addresses;
    if (all === true) callback(null, [...addresses]);
    else callback(null, first?.address ?? "", first?.family);
  };
}

function redirectOf({ statusCode = 0, headers }: IncomingMessage): string | undefined {
  return [301, 302, 303, 307, 308].includes(statusCode) ? headers.location : undefined;
}

async function received(url: URL, response: IncomingMessage, bytesMax: number): Promise<Fetched> {
  const { statusCode = 0, headers } = response;
  try {
    if (statusCode < 200 || statusCode > 299) {
      throw new FetchError(`its server answered with status ${statusCode}`);
    }
    const encoding = headers["content-encoding"] ?? "identity";
    if (encoding !== "identity") throw new FetchError("its server sent it compressed, unasked");
    const pieces = await readPieces(response, bytesMax);
    return { url: url.href, ...typeOf(headers["content-type"]), pieces };
  } finally {
    response.destroy();
  }
}

function typeOf(header: string | undefined): Pick<Fetched, "mimeType" | "charset"> {
  if (header === undefined) return {};
  const [, charset] = /;\s*charset\s*=\s*"?(?<charset>[\w.:-]{1,40})/i.exec(header) ?? [];
  const mimeType = header.split(";", 1)[0]?.trim().toLowerCase() ?? "";
  return { mimeType, ...defined({ charset }) };
}

async function readPieces(
  response: AsyncIterable<unknown>,
  bytesMax: number,
): Promise<readonly Uint8Array<ArrayBuffer>[]> {
  const pieces: Uint8Array<ArrayBuffer>[] = [];
  let bytes = 0;
  for await (const piece of response as AsyncIterable<Buffer<ArrayBuffer>>) {
    bytes += piece.byteLength;
    if (bytes > bytesMax) throw new FetchError(`it is larger than ${bytesMax} bytes`);
    pieces.push(piece);
  }
  return pieces;
}

/** A look-up cannot be cancelled, so nobody waits for it any longer once the signal is aborted. */
function unlessAborted<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    const abort = (): void => reject(signal.reason as Error);
    if (signal.aborted) abort();
    signal.addEventListener("abort", abort, { once: true });
    work.then(resolve, reject).finally(() => signal.removeEventListener("abort", abort));
  });
}
