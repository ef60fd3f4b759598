// `svc search`: asks the hub itself; no server is needed.

import { knownTable, searchTable } from "../cli/search-table.ts";
import type { Loaded } from "../config/resolve.ts";
import { EXIT, type Invocation } from "../cli/invocation.ts";
import { searchCatalogue } from "../core/catalogue.ts";
import { hubPlace } from "../hub/place.ts";
import { searchHub } from "../hub/search.ts";
import { readToken } from "../hub/token.ts";
import { type CommandHost, failed } from "./host.ts";

/** Prints what the hub has. */
export async function search(
  { settings }: Loaded,
  { query, json }: Extract<Invocation, { command: "search" }>,
  host: CommandHost,
): Promise<number> {
  const place = hubPlace(host.environment);
  try {
    const token = readToken(settings.global.token_source, place, host.environment);
    const found = await searchHub(query, place, { endpoint: place.endpoint, token });
    const known = searchCatalogue(query.text);
    process.stdout.write(
      json ? `${JSON.stringify(found, null, 2)}\n` : `${knownTable(known)}${searchTable(found)}`,
    );
    return EXIT.ok;
  } catch (error) {
    return failed(host, error);
  }
}
