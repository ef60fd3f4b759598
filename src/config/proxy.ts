// Proxies of the environment (HTTP_PROXY, HTTPS_PROXY, NO_PROXY), which Bun's fetch applies to every request.

/** Hosts of this machine, as addresses of servers name them. */
const LOOPBACK = ["localhost", "127.0.0.1", "::1", "[::1]", "0.0.0.0"];

/**
 * Excludes this machine from the proxies of the environment: a proxy cannot reach its servers, and would see prompts and keys. Of
 * `no_proxy` and `NO_PROXY` Bun reads the first that is set.
 */
export function bypassLoopback(environment: Record<string, string | undefined>): void {
  const name = environment["no_proxy"] === undefined ? "NO_PROXY" : "no_proxy";
  const known = (environment[name] ?? "").split(",").map((host) => host.trim());
  environment[name] = [...new Set([...known, ...LOOPBACK])].filter((host) => host !== "").join(",");
}
