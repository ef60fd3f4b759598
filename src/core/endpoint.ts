// Network addresses as users write them.

/** Reads `host:port` or `[IPv6]:port`; undefined when it is neither. */
export function parseEndpoint(
  text: string,
  lowestPort = 1,
): { readonly host: string; readonly port: number } | undefined {
  const found = /^(?:\[([^\]]+)\]|([^:[\]]+)):(\d{1,5})$/.exec(text);
  const port = Number(found?.[3]);
  const host = found?.[1] ?? found?.[2];
  return host === undefined || port < lowestPort || port > 65_535 ? undefined : { host, port };
}
