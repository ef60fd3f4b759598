// The upstream servers of one model: state, load and last error of each.

import type { SystemUpstream } from "../../src/core/system.ts";
import { formatSecs } from "../format.ts";
import { t } from "../texts/texts.ts";

export function Upstreams({ servers }: { readonly servers: readonly SystemUpstream[] }) {
  return (
    <div class="adapters">
      <h3>{t.models.upstreams}</h3>
      <ul>
        {servers.map((server) => (
          <li key={`${server.upstream} ${server.model}`}>
            <strong>{server.upstream}</strong>
            <span class={`badge ${server.status === "healthy" ? "loaded" : ""}`}>
              {t.models.upstreamStates[server.status]}
            </span>
            <span class="faint">{factsOf(server).join(" · ")}</span>
          </li>
        ))}
      </ul>
    </div>
  );
}

function factsOf(server: SystemUpstream): readonly string[] {
  const { model, engine, in_flight: inFlight, cooldown_left: left } = server;
  const { last_error: error, last_error_at: at } = server;
  return [
    ...(engine === null ? [] : [engine]),
    model,
    t.models.inFlight(inFlight),
    ...(left === null ? [] : [left === 0 ? t.models.trial : t.models.triedAgain(formatSecs(left))]),
    ...(error === null || at === null
      ? []
      : [t.models.lastError(new Date(at * 1000).toLocaleTimeString(t.locale.dates), error)]),
  ];
}
