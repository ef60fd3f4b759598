// The target of a request: which path and query its first line names. The runtime builds `request.url` from the Host header, and
// leaves that out where it finds it unusable; a client could choose by it what a check sees. Here every request gets a URL whose
// path is that of its first line, before anything looks at it.

/** In the place of a host that is absent or unusable. */
const SOME_HOST = "http://localhost";

/** One name or address, with a port or without: what a client may send as Host. RFC 9110, 7.2; no name needs more characters. */
const HOST = /^(?:[a-z0-9_](?:[a-z0-9._-]{0,252})|\[[0-9a-f:.]{2,45}\])(?::\d{0,5})?$/i;

/** Whether a Host header names one host. HTTP/1.0 needs none; the runtime refuses an HTTP/1.1 request without one. */
export function isUsableHost(host: string | null): boolean {
  return host === null || (HOST.test(host) && URL.canParse(`http://${host}`));
}

/**
 * Gives a request a URL that begins with its scheme and a host, and whose path has no empty segments, base addresses that end in a
 * slash are usual, and no fragment, behind which the router and a rule would see different paths. Everything that reads `request.url` afterwards, the router included, sees the same path.
 */
export function settleTarget(request: Request): void {
  const { url } = request;
  if (isSettled(url) && isUsableHost(request.headers.get("host"))) return;
  const settled = new URL(SOME_HOST + targetOf(url));
  settled.pathname = settled.pathname.replaceAll(/\/{2,}/g, "/");
  settled.hash = "";
  Object.defineProperty(request, "url", { value: settled.href });
}

/** The path of a settled URL, without parsing the whole: this is done for every request. */
export function pathOf(url: string): string {
  const start = url.indexOf("/", url.indexOf("//") + 2);
  if (start < 0) return "/";
  const end = url.slice(start).search(/[?#]/);
  return end < 0 ? url.slice(start) : url.slice(start, start + end);
}

function isSettled(url: string): boolean {
  return /^https?:\/\/[^/]/.test(url) && !url.includes("#") && !pathOf(url).includes("//");
}

/** Path and query of a URL of the runtime: absolute, or the target alone. CONNECT names no path. */
function targetOf(url: string): string {
  if (url.startsWith("/")) return url;
  const absolute = /^https?:\/\/[^/?#]*(?<target>.*)$/s.exec(url);
  const target = absolute?.groups?.["target"] ?? "";
  return target.startsWith("/") ? target : `/${target}`;
}
