// The optional check of API keys.

import { ServiceError } from "../../core/error.ts";
import { ApiKeys } from "../api-keys.ts";

const PROBES: ReadonlySet<string> = new Set(["/", "/health", "/ready"]);

/**
 * Open to everybody: probes have no key, a browser's preflight cannot bring one, and the files of the web interface are where
 * a person enters one. Names of those files have a dot; what the page fetches below has none.
 */
function isOpen({ method }: Request, path: string): boolean {
  return method === "OPTIONS" || PROBES.has(path) || /^\/ui(?:\/|\/[^/]+\.[^/.]+)?$/.test(path);
}

/** Makes the check: it throws `invalid_api_key` for a request without one of the keys. */
export function apiKeyCheck(keys: ApiKeys): (request: Request, path: string) => void {
  return (request, path) => {
    if (isOpen(request, path) || keys.ownerOf(request.headers) !== undefined) return;
    const sent = ApiKeys.sentIn(request.headers);
    const fault = sent === undefined ? "an API key is required" : "the API key is invalid";
    throw new ServiceError(
      "invalid_api_key",
      `${fault}: send it as authorization: Bearer KEY, or as x-api-key`,
    );
  };
}
