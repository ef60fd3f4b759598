// Which web pages may call the MCP endpoint. A third-party page can send requests to this machine, even under a name
// of its own that it lets point here; what gives it away is the Origin header, which every browser sends with a POST.

const LOOPBACK = new Set(["localhost", "127.0.0.1", "[::1]"]);
/** Addresses that stand for all of a machine's, and so for none in particular. */
const WILDCARDS = new Set(["0.0.0.0", "::"]);

/** Programs send no origin. Pages must come from this machine, or from the very host that the server listens on. */
export function isTrustedOrigin(origin: string | null, host: string): boolean {
  if (origin === null) return true;
  if (!URL.canParse(origin)) return false;
  const { hostname } = new URL(origin);
  if (LOOPBACK.has(hostname)) return true;
  const own = host.includes(":") ? `[${host}]` : host;
  return !WILDCARDS.has(host) && hostname === own;
}

/** CORS headers for a page of that origin; none for programs. */
export function originHeaders(origin: string | null): readonly (readonly [string, string])[] {
  return origin === null
    ? []
    : [
        ["access-control-allow-origin", origin],
        ["vary", "origin"],
      ];
}

/** Tells a browser that it may go on and send its request. */
export function preflight(): Response {
  const headers = {
    "access-control-allow-methods": "POST",
    "access-control-allow-headers":
      "content-type, authorization, accept, mcp-protocol-version, mcp-session-id",
    "access-control-max-age": "600",
  };
  return new Response(null, { status: 204, headers });
}
