// Requests to a server that the operator names, and to the addresses that its answers name: metadata, registration, tokens. A server of
// the internet must not lead svc to a service of this machine or of its network: an address is reached only if it is as far out as the
// server is.

import { lookup as lookUp } from "node:dns/promises";
import type { Reach } from "../core/networks.ts";
import { addressReach } from "./address.ts";
import { FETCH_REDIRECTS_MAX } from "./limits.ts";
import { FetchError, publicRequest, type PublicFetchOptions } from "./public-fetch.ts";

/** The global fetch, as far as it is used. */
export type EndpointFetch = (url: string | URL, init?: RequestInit) => Promise<Response>;

export interface EndpointFetchOptions extends Pick<PublicFetchOptions, "resolve"> {
  /** Requests to the server itself; default: the global fetch. */
  readonly own?: EndpointFetch;
}

/** A fetch for a server and what it names. Throws FetchError. */
export function endpointFetch(serverUrl: string, options: EndpointFetchOptions = {}): EndpointFetch {
  const { origin, hostname } = new URL(serverUrl);
  const { own = fetch, resolve = (host) => lookUp(host, { all: true }) } = options;
  let distance: Promise<number> | undefined;
  const other = async (url: URL, init: RequestInit): Promise<Response> => {
    const least = await (distance ??= distanceOfHost(hostname, resolve));
    const isAllowed = (address: string): boolean => DISTANCES[addressReach(address)] >= least;
    const body = init.body instanceof URLSearchParams ? init.body.toString() : init.body;
    return publicRequest({ resolve, isAllowed })(url, { ...init, body: body ?? null });
  };
  return async (address, init = {}) => {
    let url = new URL(address);
    let request = init;
    for (let hops = 0; hops <= FETCH_REDIRECTS_MAX; hops++) {
      if (url.origin !== origin) return other(url, request);
      const response = await own(url, { ...request, redirect: "manual" });
      const location = response.headers.get("location");
      if (response.status < 300 || response.status >= 400 || location === null) return response;
      await response.body?.cancel();
      url = URL.parse(location, url.href) ?? url;
      request = redirected(request, response.status, url.origin === origin);
    }
    throw new FetchError(`it redirects more than ${FETCH_REDIRECTS_MAX} times`);
  };
}

/** As fetch follows: 307 and 308 repeat the method and the body; another origin gets no credentials. */
function redirected(init: RequestInit, status: number, isOwn: boolean): RequestInit {
  const headers = new Headers(init.headers);
  if (!isOwn) for (const name of ["authorization", "cookie"]) headers.delete(name);
  const { method = "GET" } = init;
  if (status === 307 || status === 308 || method === "GET") return { ...init, headers };
  const { body: _, ...rest } = init;
  for (const name of ["content-type", "content-length"]) headers.delete(name);
  return { ...rest, method: "GET", headers };
}

/** How far out an address is. Where none may lead, such as metadata services of clouds, is nearer than this machine. */
const DISTANCES: Readonly<Record<Reach, number>> = { never: -1, machine: 0, local: 1, public: 2 };

/** Of all addresses of a host the nearest one. A host without an address, behind a proxy, is taken to be on the internet. */
async function distanceOfHost(
  hostname: string,
  resolve: NonNullable<PublicFetchOptions["resolve"]>,
): Promise<number> {
  const found = await resolve(hostname.replaceAll(/[[\]]/g, "")).catch(() => []);
  const reaches = found.map(({ address }) => addressReach(address));
  return Math.min(2, ...reaches.map((reach) => DISTANCES[reach === "never" ? "local" : reach]));
}
