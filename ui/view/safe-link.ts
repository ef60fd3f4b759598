const PROTOCOLS = new Set(["http:", "https:", "mailto:"]);

/** The address of a link that a model may set; undefined for scripts, files, data, and addresses within this page. */
export function safeLink(href: string): string | undefined {
  const url = URL.parse(href);
  return url !== null && PROTOCOLS.has(url.protocol) ? url.href : undefined;
}
