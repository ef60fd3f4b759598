// Routes of this server, from its OpenAPI document.

import { sendForJson } from "./client.ts";

let known: Promise<ReadonlySet<string>> | undefined;

/** Paths of the server's API, such as `/v1/models/{id}`. Fetched once; a failed fetch is retried by the next call. */
export function serverRoutes(): Promise<ReadonlySet<string>> {
  known ??= sendForJson<{ readonly paths: Readonly<Record<string, unknown>> }>("api-doc/openapi.json").then(
    ({ paths }) => new Set(Object.keys(paths)),
  );
  known.catch(() => (known = undefined));
  return known;
}
