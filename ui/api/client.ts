// Requests to the server that this page came from. The only file that fetches.

import { keyWanted } from "../state/key.ts";
import { prefs } from "../state/prefs.ts";

/** The server's root: the page lives one folder below it, also behind a proxy that adds a prefix. */
const ROOT = new URL("..", document.baseURI);

/** An answer that is no success, with the server's own message. */
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
}

/** Sends a request; resolves with a success, throws ApiError for everything else. `path` has no leading slash. */
export async function send(path: string, { method = "GET", body, signal }: Send = {}): Promise<Response> {
  const key = prefs.value.apiKey;
  const init: RequestInit = {
    method,
    headers: {
      ...(body === undefined ? {} : { "content-type": "application/json" }),
      ...(key === "" ? {} : { authorization: `Bearer ${key}` }),
    },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    ...(signal === undefined ? {} : { signal }),
  };
  let response: Response;
  try {
    response = await fetch(new URL(path, ROOT), init);
  } catch (error) {
    if (signal?.aborted === true) throw error;
    throw new ApiError(0, "unreachable", "The server can't be reached.");
  }
  if (response.ok) return response;
  if (response.status === 401) keyWanted.value = true;
  throw await toApiError(response);
}

/** The JSON of a success. */
export async function sendForJson<T>(path: string, options: Send = {}): Promise<T> {
  const response = await send(path, options);
  return (await response.json()) as T;
}

/** The JSON of a success; undefined where this server has no such route, or has it switched off. */
export async function sendIfThere<T>(path: string, options: Send = {}): Promise<T | undefined> {
  try {
    return await sendForJson<T>(path, options);
  } catch (error) {
    if (isAbsent(error)) return undefined;
    throw error;
  }
}

/** Whether an error means that the server lacks what was asked for. */
export function isAbsent(error: unknown): boolean {
  return error instanceof ApiError && [404, 405, 409, 501, 503].includes(error.status);
}

/** What went wrong, for people. */
export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

async function toApiError(response: Response): Promise<ApiError> {
  const { status } = response;
  try {
    const body = (await response.json()) as { error?: { code?: string; message?: string } };
    const { code = "", message = `The server answered with status ${status}.` } = body.error ?? {};
    return new ApiError(status, code, message);
  } catch {
    return new ApiError(status, "", `The server answered with status ${status}.`); // a proxy's page, not ours
  }
}
