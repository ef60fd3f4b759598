// The optional check of API keys. Clients send one as `Authorization: Bearer KEY` or `x-api-key: KEY`.

import { createHash, timingSafeEqual } from "node:crypto";
import { ServiceError } from "../../core/error.ts";

const PROBES: ReadonlySet<string> = new Set(["/", "/health", "/ready"]);

/**
 * Open to everybody: probes have no key, a browser's preflight cannot bring one, and the web interface is where a person
 * enters one.
 */
function isOpen({ method }: Request, path: string): boolean {
  return method === "OPTIONS" || PROBES.has(path) || /^\/ui(?:\/|$)/.test(path);
}

/** Makes the check: it throws `invalid_api_key` for a request without one of the keys. */
export function apiKeyCheck(keys: readonly string[]): (request: Request, path: string) => void {
  const digests = keys.map(digest);
  return (request, path) => {
    if (isOpen(request, path)) return;
    const sent = sentKey(request.headers);
    // All are compared, each in constant time, so that the answer's time tells nothing about them.
    const sentDigest = digest(sent ?? "");
    const known = digests.filter((key) => timingSafeEqual(key, sentDigest)).length > 0;
    if (sent !== undefined && known) return;
    const fault = sent === undefined ? "an API key is needed" : "the API key is not one of this server's";
    throw new ServiceError(
      "invalid_api_key",
      `${fault}: send it as authorization: Bearer KEY, or as x-api-key`,
    );
  };
}

function digest(text: string): Buffer {
  return createHash("sha256").update(text).digest();
}

function sentKey(headers: Headers): string | undefined {
  const bearer = /^bearer +(.+)$/i.exec(headers.get("authorization") ?? "")?.[1]?.trim();
  return bearer ?? headers.get("x-api-key") ?? undefined;
}
