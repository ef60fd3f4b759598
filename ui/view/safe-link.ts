// Filter for the links of model output.

const PROTOCOLS = new Set(["http:", "https:", "mailto:"]);

/** The URL of a link if its scheme is allowed; undefined for scripts, files, data URLs and relative URLs. */
export function safeLink(href: string): string | undefined {
  const url = URL.parse(href);
  return url !== null && PROTOCOLS.has(url.protocol) ? url.href : undefined;
}
