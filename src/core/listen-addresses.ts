// The addresses that a server listens on for a configured one. Browsers take `localhost` for ::1 as well as for 127.0.0.1: another program that
// holds the other one of a port would get the requests, keys and stored conversations of the server's own page.

/** Addresses that belong together: each stands for the others. */
const GROUPS: readonly (readonly string[])[] = [
  ["0.0.0.0", "::"],
  ["127.0.0.1", "::1"],
];

/** The address first that is configured, then those that are taken with it. */
export function listenAddresses(host: string): readonly string[] {
  if (host === "localhost") return listenAddresses("127.0.0.1");
  const group = GROUPS.find((one) => one.includes(host));
  return group === undefined ? [host] : [host, ...group.filter((one) => one !== host)];
}

/** Why a second address cannot be had on a machine that has none of its kind: IPv6 switched off, or not built in. */
const ABSENT: ReadonlySet<string> = new Set(["EADDRNOTAVAIL", "EAFNOSUPPORT", "EPROTONOSUPPORT"]);

/** Whether listening failed because the machine has no address of that kind. */
export function isAbsent(code: string | undefined): boolean {
  return code !== undefined && ABSENT.has(code);
}

/** An address as it stands in a URL, before the port. */
export function inUrl(host: string): string {
  return host.includes(":") ? `[${host}]` : host;
}

/** Beginning of a configured host that is a UNIX socket. */
export const SOCKET_PREFIX = "unix:";

/** The path of the socket that a configured host names; undefined for an address. */
export function socketPathOf(host: string): string | undefined {
  return host.startsWith(SOCKET_PREFIX) ? host.slice(SOCKET_PREFIX.length) : undefined;
}
