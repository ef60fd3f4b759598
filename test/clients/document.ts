// Generated parts of docs/clients.md: configurations as the ring uses them, and its table. Run as a program it writes the
// configurations anew; a test holds the page to them.

import { readFileSync, writeFileSync } from "node:fs";
import { AGENTS } from "./agents.ts";

const PAGE = new URL("../../docs/clients.md", import.meta.url);

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

/** The page with the configurations of all agents; some share one. */
export function withConfigurations(page: string): string {
  const shown = new Map(AGENTS.toReversed().map((agent) => [agent.configure, agent]));
  return [...shown.values()].reduce((text, { name, configure }) => {
    const { language, text: body } = configure({ root: "http://localhost:1234" });
    return writeBlock(text, name, `\`\`\`${language}\n${body}\`\`\``);
  }, page);
}

if (import.meta.main) writeFileSync(PAGE, withConfigurations(readFileSync(PAGE, "utf8")));
