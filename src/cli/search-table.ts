// Repositories of the hub as a table for a terminal.

import { CATALOGUE, type CatalogueEntry } from "../core/catalogue.ts";
import type { HubRepository } from "../core/hub.ts";
import { columns } from "./table.ts";

/** One line for each repository; a sentence where nothing was found. */
export function searchTable(found: readonly HubRepository[]): string {
  if (found.length === 0) return "No repository with GGUF files has these words in its name.\n";
  const rows = found.map((one) => [
    one.id,
    one.parameters === null ? "" : parameterCount(one.parameters),
    one.architecture ?? "",
    one.license ?? "",
    String(one.downloads),
    [one.access === "public" ? "" : one.access, one.downloaded ? "downloaded" : ""]
      .filter(Boolean)
      .join(", "),
  ]);
  return columns(
    [["REPOSITORY", "PARAMETERS", "ARCHITECTURE", "LICENCE", "DOWNLOADS", ""], ...rows],
    (column) => column === 1 || column === 4,
  );
}

/** Names that people know, with the day on which they were renewed; nothing where none has these words. */
export function knownTable(found: readonly CatalogueEntry[]): string {
  if (found.length === 0) return "";
  const rows = found.map(({ name, billions, repo, license, kinds }) => [
    name,
    parameterCount(billions * 1e9),
    kinds.join(", "),
    license,
    repo,
  ]);
  const table = columns(
    [["NAME", "PARAMETERS", "KINDS", "LICENCE", "REPOSITORY"], ...rows],
    (column) => column === 1,
  );
  return `Names as of ${CATALOGUE.date}: svc run NAME, svc pull NAME\n${table}\n`;
}

/** `0.6B`, `30.5B`, `270M`. */
function parameterCount(parameters: number): string {
  if (parameters >= 1e9) return `${(parameters / 1e9).toFixed(1)}B`;
  return parameters >= 1e6 ? `${Math.round(parameters / 1e6)}M` : `${Math.round(parameters / 1e3)}K`;
}
