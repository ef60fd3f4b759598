// SSRF-safe fetch of untrusted URLs: public addresses only. A host is resolved once, all its addresses must be public, and
// the connection uses a checked address, which prevents DNS rebinding. Each redirect is checked again. node:http instead of
// fetch because only it accepts a custom lookup.
// No setting opens it. A proxy of the environment is not used: it would resolve names itself. NAT64 addresses are refused.

import { itemAt } from "../core/assert.ts";
import { lookup as lookUp } from "node:dns/promises";
import { request as requestHttp, type IncomingMessage, type RequestOptions } from "node:http";
import { request as requestHttps } from "node:https";
import type { LookupFunction } from "node:net";
import { Readable } from "node:stream";
import { defined } from "../core/defined.ts";
import { FETCH_MS, FETCH_REDIRECTS_MAX } from "./limits.ts";
import { VERSION } from "../core/version.ts";
import { unlessAborted } from "../core/with-abort.ts";
import { boundedPieces } from "../core/bounded-body.ts";
import { isLoopbackAddress, isPublicAddress } from "./address.ts";

/** A failed fetch. The message may be sent to clients: it contains no URL or address. */
export class FetchError extends Error {
  override readonly name = "FetchError";
}

export interface FetchOptions {
  /** Largest body, bytes. */
  readonly bytesMax: number;
  /** Total timeout, milliseconds. Default: limits.ts, FETCH_MS. */
  readonly timeoutMs?: number;
  /** Value of the accept header. */
  readonly accept?: string;
}

export interface Fetched {
  /** Final URL, after redirects. */
  readonly url: string;
  /** Lower case, without parameters; absent if the server sent none. */
  readonly mimeType?: string;
  /** `charset` parameter of the content type, if any. */
  readonly charset?: string;
  readonly pieces: readonly Uint8Array<ArrayBuffer>[];
}

/** GETs an http or https URL. Throws FetchError. */
export type PublicFetch = (url: string, options: FetchOptions, signal: AbortSignal) => Promise<Fetched>;

interface Address {
  readonly address: string;
  readonly family: number;
}

export interface PublicFetchOptions {
  /** Permits loopback addresses. For tests only; no setting sets it. */
  readonly allowLoopback?: boolean;
  /** Addresses that are permitted; default: public ones. */
  readonly isAllowed?: (address: string) => boolean;
  /** Resolver of host names; default: the system's. */
  readonly resolve?: (host: string) => Promise<readonly Address[]>;
}

/** GETs a URL and returns the response as it comes, with any status. Throws FetchError. */
export type PublicOpen = (
  url: string,
  headers: Readonly<Record<string, string>>,
  signal: AbortSignal,
) => Promise<Response>;

/** The same for downloads, which take as long as they take: no timeout. */
export function publicOpen(options: PublicFetchOptions = {}): PublicOpen {
  const addressesOf = addressCheck(options);
  return async (url, headers, signal) => {
    try {
      const hop = { addressesOf, headers, signal, staysEncrypted: true };
      const { response } = await unlessAborted(signal, follow(url, hop));
      return responseOf(response);
    } catch (error) {
      if (error instanceof FetchError || signal.aborted) throw error;
      throw new FetchError("its server could not be reached", { cause: error });
    }
  };
}

/** As the global fetch with these parts of its options, but to public addresses only and without redirects. Throws FetchError. */
export type PublicRequest = (
  url: string | URL,
  init?: Pick<RequestInit, "method" | "headers" | "body" | "signal">,
) => Promise<Response>;

/** Requests with a method, headers and a text as body, which a redirect would carry to another host. */
export function publicRequest(options: PublicFetchOptions = {}): PublicRequest {
  const addressesOf = addressCheck(options);
  return async (address, { method = "GET", headers, body, signal } = {}) => {
    const url = validUrl(String(address));
    const abort = signal ?? new AbortController().signal;
    const hop = {
      addressesOf,
      method,
      headers: Object.fromEntries(new Headers(headers)),
      signal: abort,
      ...(typeof body === "string" ? { body } : {}),
    };
    const response = await unlessAborted(abort, get(url, hop));
    if (redirectOf(response) === undefined) return responseOf(response);
    response.destroy();
    throw new FetchError("it redirects to another address; use that one");
  };
}

/** A response as fetch returns it. */
function responseOf(message: IncomingMessage): Response {
  const status = message.statusCode ?? 502;
  const headers = Object.entries(message.headers).map(([name, value]): [string, string] => [
    name,
    String(value),
  ]);
  if (status === 204 || status === 304) return new Response(null, { status, headers });
  const body = Readable.toWeb(message) as unknown as ReadableStream<Uint8Array>; // Node's type of the same class
  return new Response(body, { status, headers });
}

type AddressesOf = (host: string) => Promise<readonly Address[]>;

/** Resolves host names; refuses those that are not on the public internet. */
function addressCheck(options: PublicFetchOptions): AddressesOf {
  const resolve = options.resolve ?? ((host) => lookUp(host, { all: true }));
  const isUsual = (address: string): boolean =>
    isPublicAddress(address) || (options.allowLoopback === true && isLoopbackAddress(address));
  const { isAllowed = isUsual } = options;
  return async (host) => {
    const found = await resolve(host);
    if (found.length > 0 && found.every(({ address }) => isAllowed(address))) return found;
    throw new FetchError("its host is not on the public internet; only public addresses are permitted");
  };
}

/** A fetch limited to public addresses. */
export function publicFetch(options: PublicFetchOptions = {}): PublicFetch {
  const addressesOf = addressCheck(options);
  return async (url, { bytesMax, timeoutMs = FETCH_MS, accept = "*/*" }, signal) => {
    const deadline = AbortSignal.timeout(timeoutMs);
    const either = AbortSignal.any([signal, deadline]);
    try {
      const whole = async (): Promise<Fetched> => {
        const last = await follow(url, { addressesOf, headers: { accept }, signal: either });
        return readResponse(last.url, last.response, bytesMax);
      };
      return await unlessAborted(either, whole());
    } catch (error) {
      if (deadline.aborted) throw new FetchError(`it timed out after ${timeoutMs / 1000} seconds`);
      if (error instanceof FetchError || signal.aborted) throw error;
      throw new FetchError("its server could not be reached", { cause: error });
    }
  };
}

interface Hop {
  readonly addressesOf: AddressesOf;
  /** Default: GET, without a body. */
  readonly method?: string;
  readonly body?: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly signal: AbortSignal;
  /** Whether a redirect from https to http is refused. */
  readonly staysEncrypted?: boolean;
}

interface Landed {
  readonly url: URL;
  readonly response: IncomingMessage;
}

async function follow(start: string, hop: Hop): Promise<Landed> {
  let url = validUrl(start);
  for (let redirects = 0; redirects <= FETCH_REDIRECTS_MAX; redirects++) {
    const response = await get(url, hop);
    const target = redirectOf(response);
    if (target === undefined) return { url, response };
    response.destroy();
    const next = validUrl(target, url);
    if (hop.staysEncrypted === true && url.protocol === "https:" && next.protocol === "http:")
      throw new FetchError("it redirects from https to http");
    url = next;
  }
  throw new FetchError(`it redirects more than ${FETCH_REDIRECTS_MAX} times`);
}

function validUrl(text: string, base?: URL): URL {
  const url = URL.parse(text, base?.href);
  if (url === null) throw new FetchError("it is not a valid URL");
  if (url.protocol !== "http:" && url.protocol !== "https:") {
    throw new FetchError("only http and https URLs are supported");
  }
  if (url.username !== "" || url.password !== "") {
    throw new FetchError("URLs with a user name or password are not supported");
  }
  return url;
}

/** Response head, from one of the host's checked addresses. */
async function get(
  url: URL,
  { addressesOf, method = "GET", body, headers, signal }: Hop,
): Promise<IncomingMessage> {
  const host = url.hostname.replace(/^\[(?<address>.*)\]$/, "$<address>");
  const addresses = await addressesOf(host);
  const options: RequestOptions = {
    method,
    agent: false, // no keep-alive: a reused connection belongs to another lookup
    lookup: pinned(addresses),
    signal,
    headers: { "accept-encoding": "identity", "user-agent": `svc/${VERSION}`, ...headers },
  };
  return new Promise((resolve, reject) => {
    const request = url.protocol === "https:" ? requestHttps : requestHttp;
    request(url, options, resolve).on("error", reject).end(body);
  });
}

/** Lookup function that returns the checked addresses. */
function pinned(addresses: readonly Address[]): LookupFunction {
  return (_host, { all }, callback) => {
    if (all === true) return callback(null, [...addresses]);
    const { address, family } = itemAt(addresses, 0);
    callback(null, address, family);
  };
}

function redirectOf({ statusCode = 0, headers }: IncomingMessage): string | undefined {
  return [301, 302, 303, 307, 308].includes(statusCode) ? headers.location : undefined;
}

async function readResponse(url: URL, response: IncomingMessage, bytesMax: number): Promise<Fetched> {
  const { statusCode = 0, headers } = response;
  try {
    if (statusCode < 200 || statusCode > 299) {
      throw new FetchError(`its server responded with HTTP status ${statusCode}`);
    }
    const encoding = headers["content-encoding"] ?? "identity";
    if (encoding !== "identity")
      throw new FetchError("its server sent it compressed, which was not requested");
    const tooLarge = (): Error => new FetchError(`it is larger than ${bytesMax} bytes`);
    const pieces = await boundedPieces(response as AsyncIterable<Buffer<ArrayBuffer>>, bytesMax, tooLarge);
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
