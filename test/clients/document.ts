// The table of results in docs/clients.md.

/** What became of one client. */
export interface Result {
  readonly client: string;
  readonly version: string;
  readonly what: string;
  readonly outcome: string;
}

export function resultTable(results: readonly Result[]): string {
  const rows = results.map(
    ({ client, version, what, outcome }) => `| ${client} | ${version} | ${what} | ${outcome} |`,
  );
  return ["| Client | Version | Tested | Result |", "|---|---|---|---|", ...rows].join("\n");
}

/** The page with new text between the markers of a block. */
export function writeBlock(page: string, name: string, text: string): string {
  const [begin, end] = [`<!-- ${name} -->`, `<!-- /${name} -->`];
  const from = page.indexOf(begin);
  const to = page.indexOf(end);
  if (from < 0 || to < from) throw new Error(`docs/clients.md has no block ${name}`);
  return `${page.slice(0, from + begin.length)}\n${text}\n${page.slice(to)}`;
}
