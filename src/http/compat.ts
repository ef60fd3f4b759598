// Compatibility mode of one request: counts and logs each use, and reports it in a header (observe.ts).

import { type Compat, type CompatKind, NOTED, STRICT } from "../core/compat.ts";
import type { HttpDeps } from "./deps.ts";
import type { LogLine } from "./errors.ts";
import { observed } from "./observe.ts";

/** Warns of each kind once: clients repeat themselves with every request. */
export function compatWarnings(log: LogLine): (kind: CompatKind) => void {
  const warned = new Set<CompatKind>();
  return (kind) => {
    if (warned.has(kind)) return;
    warned.add(kind);
    log(
      NOTED.has(kind)
        ? `warning: requests contain what this server has no meaning for, and are served without it (${kind}); logged once`
        : `warning: compat = clients: serving requests that the specification rejects (${kind}); logged once`,
    );
  };
}

/** The mode for the request that is being handled. */
export function requestCompat({ compat }: HttpDeps): Compat {
  if (compat === undefined) return STRICT;
  return { ...compat, note: (kind, what) => observed()?.servedAs(kind, what) };
}
