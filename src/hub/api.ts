// Requests to the hub's API: the token goes to the hub's own origin alone, every request has a timeout, and the hub's rate limit
// is respected.

import { shownAddress } from "../core/shown-address.ts";
import { defined } from "../core/defined.ts";
import { formatRepo, type HubId } from "../core/hub-id.ts";
import { reasonOf } from "../core/reason.ts";
import { pause } from "../core/with-abort.ts";
import {
  DOWNLOAD_REDIRECTS_MAX,
  HUB_ANSWER_MS,
  HUB_JSON_BYTES_MAX,
  HUB_TRIES,
  RETRY_AFTER_MS_MAX,
  RETRY_MS,
} from "./limits.ts";
import { HubError } from "./error.ts";

/** The hub, and the token for it. */
export interface HubAccess {
  /** Address without a slash at its end. */
  readonly endpoint: string;
  readonly token: string | undefined;
  readonly signal?: AbortSignal | undefined;
  /** First delay after a request that the hub was too busy for, milliseconds. */
  readonly retryMs?: number | undefined;
}

/** `fetch` for the hub. Requests that the hub is too busy for are repeated a few times, after the delay that it names. */
export function hubFetch({ endpoint, token, signal, retryMs = RETRY_MS }: HubAccess) {
  const { origin } = new URL(endpoint);
  const once = (input: string | URL | Request, init: RequestInit): Promise<Response> => {
    const headers = new Headers(init.headers);
    const url = input instanceof Request ? input.url : String(input);
    if (token !== undefined && new URL(url).origin === origin)
      headers.set("authorization", `Bearer ${token}`);
    return fetch(input, { ...init, headers, signal: withinMs(HUB_ANSWER_MS, signal) });
  };
  const send = async (input: string | URL | Request, init: RequestInit = {}): Promise<Response> => {
    for (let tries = 1; ; tries++) {
      const response = await once(input, init);
      const isBusy = response.status === 429 || response.status >= 500;
      const pauseMs = retryAfterMs(response.headers) ?? retryMs * 2 ** (tries - 1);
      if (!isBusy || tries >= HUB_TRIES || pauseMs > RETRY_AFTER_MS_MAX) return response;
      await response.body?.cancel();
      await pause(pauseMs, signal);
    }
  };
  return Object.assign(send, { preconnect: fetch.preconnect });
}

/** A signal with a limit of time. */
export function withinMs(ms: number, signal: AbortSignal | undefined): AbortSignal {
  const limit = AbortSignal.timeout(ms);
  return signal === undefined ? limit : AbortSignal.any([signal, limit]);
}

/** Where the hub has a file of a commit. */
export function fileUrl(
  endpoint: string,
  { repo, commit, path }: { readonly repo: string; readonly commit: string; readonly path: string },
): string {
  return [endpoint, repo, "resolve", commit, ...path.split("/").map(encodeURIComponent)].join("/");
}

/** Delay that a server asks for, milliseconds: in seconds, or until a date. */
export function retryAfterMs(headers: Headers): number | undefined {
  const value = headers.get("retry-after")?.trim();
  if (value === undefined || value === "") return undefined;
  const ms = /^\d+$/.test(value) ? Number(value) * 1000 : Date.parse(value) - Date.now();
  return Number.isNaN(ms) ? undefined : Math.max(0, ms);
}

/** The error of a request that got no answer. */
export function unreachable(error: unknown, subject: string, endpoint: string): HubError {
  const reason = reasonOf(error);
  const isName = /ENOTFOUND|EAI_AGAIN|getaddrinfo/.test(reason);
  const why = isName ? "the DNS lookup failed" : reason;
  // A repository is written like a folder: it may have been meant.
  const hint = subject.includes("/") ? " The path of a local folder or file begins with ./ or /." : "";
  return new HubError(
    `${subject}: ${shownAddress(endpoint)} could not be reached (${why}). Check the network, or set HF_ENDPOINT to a mirror.${hint}`,
  );
}

/** Which part of a content is requested. */
export interface ContentRange {
  /** Value of the Range header. */
  readonly range: string;
  /** Value of If-Range: a server whose content has changed since sends all of it. */
  readonly ifRange?: string | undefined;
}

/** Opens a content. `part`: undefined for the whole. */
export type OpenContent = (part: ContentRange | undefined, signal: AbortSignal) => Promise<Response>;

/** The headers of a request for a part. */
export function rangeHeaders({ range, ifRange }: ContentRange): Record<string, string> {
  return { range, ...defined({ "if-range": ifRange }) };
}

/** What If-Range can tell a version of a content by: a strong ETag, else the date; undefined without either. */
export function validatorOf(headers: Headers): string | undefined {
  const etag = headers.get("etag");
  if (etag !== null && !etag.startsWith("W/")) return etag;
  return headers.get("last-modified") ?? undefined;
}

interface ContentRequest {
  /** Sent to the origin of the URL only; other origins get signed addresses. */
  readonly token: string | undefined;
  /** The content has a known hash, so that it may come without encryption after a redirect. */
  readonly isVerified?: boolean;
  /** Absent: the whole. */
  readonly part?: ContentRange | undefined;
  readonly signal: AbortSignal;
}

/** GETs a file over http. Follows redirects itself, so that only the hub gets the token. */
export async function getContent(
  address: string,
  { token, part, signal, isVerified = false }: ContentRequest,
): Promise<Response> {
  let url = httpUrl(address, undefined);
  const { origin } = url;
  for (let hops = 0; hops <= DOWNLOAD_REDIRECTS_MAX; hops++) {
    const headers = new Headers({ "accept-encoding": "identity", ...(part && rangeHeaders(part)) });
    if (token !== undefined && url.origin === origin) headers.set("authorization", `Bearer ${token}`);
    const response = await fetch(url, { headers, signal, redirect: "manual" });
    const location = response.headers.get("location");
    if (response.status < 300 || response.status >= 400 || location === null) return response;
    await response.body?.cancel();
    const next = httpUrl(location, url);
    if (url.protocol === "https:" && next.protocol === "http:" && !(isVerified && token === undefined))
      throw new HubError(`the download is redirected from https to http, by ${url.host}. Check HF_ENDPOINT.`);
    url = next;
  }
  throw new HubError("the hub redirected the download too often. Check HF_ENDPOINT.");
}

/** Bun's fetch opens files, buckets and data as well. */
function httpUrl(address: string, base: URL | undefined): URL {
  const url = URL.parse(address, base?.href);
  if (url?.protocol === "http:" || url?.protocol === "https:") return url;
  const from = base === undefined ? "" : `, by ${base.host}`;
  throw new HubError(
    `the download leads to an address that is neither http nor https${from}. Check HF_ENDPOINT.`,
  );
}

/** Bytes that one answer or several may have. */
export interface ByteBudget {
  left: number;
}

/** A response whose body fails when it is longer than the budget. */
export function withinBytes(response: Response, budget: ByteBudget, subject: string): Response {
  const { body, status, statusText, headers } = response;
  if (body === null) return response;
  const limit = new TransformStream<Uint8Array<ArrayBuffer>, Uint8Array<ArrayBuffer>>({
    transform(chunk, controller) {
      budget.left -= chunk.byteLength;
      if (budget.left >= 0) controller.enqueue(chunk);
      else controller.error(new HubError(`${subject}: the hub's answer is too long. Check HF_ENDPOINT.`));
    },
  });
  return new Response(body.pipeThrough(limit), { status, statusText, headers });
}

interface Refused extends Pick<HubAccess, "endpoint" | "token"> {
  readonly retryAfterSecs?: number | undefined;
}

/** The error of a rejected request, with its fix. */
export function refusal(status: number, id: HubId, { endpoint, token, retryAfterSecs }: Refused): HubError {
  const name = formatRepo(id);
  const login =
    token === undefined
      ? "No token is configured; store one with `svc login`, or set --token-source."
      : "The token in use has no access.";
  if (status === 401 && token === undefined) {
    return new HubError(
      `${name}: ${shownAddress(endpoint)} has no such public repository, or requires a token. ${login}`,
      "hub_model_not_found",
    );
  }
  if (status === 401 || status === 403) {
    return new HubError(
      `${name}: access is restricted. Request access at ${shownAddress(endpoint)}/${id.repo} with the account of your token. ${login}`,
      "hub_access_denied",
    );
  }
  if (status === 404) {
    return new HubError(
      `${name}: ${shownAddress(endpoint)} has no such repository or revision, and there is no such folder here.`,
      "hub_model_not_found",
    );
  }
  return new HubError(
    `${name}: ${shownAddress(endpoint)} answered with status ${status}. Try again later.`,
    "hub_unavailable",
    retryAfterSecs,
  );
}

/** The JSON of an address of the hub. `refused` makes the error of a status. */
export async function hubJson(
  path: string,
  access: HubAccess,
  subject: string,
  refused: (status: number, retryAfterSecs: number | undefined) => HubError,
): Promise<unknown> {
  let response: Response;
  try {
    response = await hubFetch(access)(`${access.endpoint}${path}`, {
      headers: { accept: "application/json" },
    });
  } catch (error) {
    access.signal?.throwIfAborted();
    throw unreachable(error, subject, access.endpoint);
  }
  if (!response.ok) {
    await response.body?.cancel();
    const ms = retryAfterMs(response.headers);
    throw refused(response.status, ms === undefined ? undefined : Math.ceil(ms / 1000));
  }
  try {
    return await withinBytes(response, { left: HUB_JSON_BYTES_MAX }, subject).json();
  } catch (error) {
    access.signal?.throwIfAborted();
    if (error instanceof HubError) throw error;
    throw new HubError(`${subject}: ${shownAddress(access.endpoint)} sent no JSON. Check HF_ENDPOINT.`);
  }
}
