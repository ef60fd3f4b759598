// What this server can do: its own description of itself lists every route.

import { sendForJson } from "./client.ts";

let known: Promise<ReadonlySet<string>> | undefined;

/** The paths of the server's API, as `/v1/models/{id}`. Asked for once; a failure is tried again. */
export function serverRoutes(): Promise<ReadonlySet<string>> {
  known ??= sendForJson<{ readonly paths: Readonly<Record<string, unknown>> }>("api-doc/openapi.json").then(
    ({ paths }) => new Set(Object.keys(paths)),
  );
  known.catch(() => (known = undefined));
  return known;
}
