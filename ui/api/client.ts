// HTTP client for the server that served this page. The only file that calls fetch.

import { isKeyDialogOpen, isKeyRefused } from "../state/key.ts";
import { prefs } from "../state/prefs.ts";
import { t } from "../texts/texts.ts";

/** Root URL of the server: the parent of the page's folder, also behind a proxy with a path prefix. */
const ROOT = new URL("..", document.baseURI);

/** The server's address for other programs, without a slash at its end. */
export function serverAddress(): string {
  return ROOT.href.replace(/\/+$/, "");
}

/** An unsuccessful response, with the server's message. */
export class ApiError extends Error {
  readonly status: number;
  readonly code: string;

  constructor(status: number, code: string, message: string) {
    super(message);
    this.name = "ApiError";
    this.status = status;
    this.code = code;
  }
}

export interface Send {
  readonly method?: "GET" | "POST" | "PUT" | "DELETE";
  /** Sent as JSON. */
  readonly body?: unknown;
  readonly signal?: AbortSignal;
  readonly headers?: Readonly<Record<string, string>>;
}

/** What a header holds. Without a key that could never be one, the server refuses the request, which opens the dialog. */
const SENDABLE = /^[\x21-\x7e](?:[\x20-\x7e]*[\x21-\x7e])?$/;

/** Sends a request; resolves with a success, throws ApiError for everything else. `path` has no leading slash. */
export async function send(
  path: string,
  { method = "GET", body, signal, headers = {} }: Send = {},
): Promise<Response> {
  const key = prefs.value.apiKey;
  const init: RequestInit = {
    method,
    headers: {
      ...headers,
      ...(path.startsWith("ui/") ? { "x-svc-page": "1" } : {}),
      ...(body === undefined ? {} : { "content-type": "application/json" }),
      ...(SENDABLE.test(key) ? { authorization: `Bearer ${key}` } : {}),
    },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    ...(signal === undefined ? {} : { signal }),
  };
  let response: Response;
  try {
    response = await fetch(new URL(path, ROOT), init);
  } catch (error) {
    if (signal?.aborted === true) throw error;
    throw new ApiError(0, "unreachable", t.errors.unreachable);
  }
  if (response.ok) return response;
  if (response.status === 401 && key === prefs.value.apiKey) {
    isKeyRefused.value = key !== "";
    isKeyDialogOpen.value = true;
  }
  throw await toApiError(response, key !== "");
}

/** The JSON of a successful response. */
export async function sendForJson<T>(path: string, options: Send = {}): Promise<T> {
  const response = await send(path, options);
  return (await response.json()) as T;
}

/** The JSON of a successful response; undefined if the server lacks the route or has disabled it. */
export async function sendIfAvailable<T>(path: string, options: Send = {}): Promise<T | undefined> {
  try {
    return await sendForJson<T>(path, options);
  } catch (error) {
    if (isUnavailable(error)) return undefined;
    throw error;
  }
}

/** Whether an error means that the route is missing or disabled on this server, or not for this person. */
export function isUnavailable(error: unknown): boolean {
  if (error instanceof ApiError && error.code === "permission_denied") return true;
  return error instanceof ApiError && [404, 405, 409, 501, 503].includes(error.status);
}

/** Message of an error, for display. */
export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

async function toApiError(response: Response, hasKey: boolean): Promise<ApiError> {
  const { status } = response;
  try {
    const body = (await response.json()) as { error?: { code?: string; message?: string } };
    const { code = "", message = t.errors.status(status) } = body.error ?? {};
    const isKey = code === "invalid_api_key"; // the server's words are for programs
    return new ApiError(status, code, isKey ? (hasKey ? t.key.wrong : t.key.required) : message);
  } catch {
    return new ApiError(status, "", t.errors.status(status)); // not JSON: an error page of a proxy
  }
}
