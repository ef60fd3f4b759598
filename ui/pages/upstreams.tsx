// The upstream servers of one model: state, load and last error of each.

import type { SystemUpstream } from "../../src/core/system.ts";
import { formatSecs } from "../format.ts";

export function Upstreams({ servers }: { readonly servers: readonly SystemUpstream[] }) {
  return (
    <div class="adapters">
      <h3>Upstream servers</h3>
      <ul>
        {servers.map((server) => (
          <li key={`${server.upstream} ${server.model}`}>
            <strong>{server.upstream}</strong>
            <span class={`badge ${server.status === "healthy" ? "loaded" : ""}`}>{server.status}</span>
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
    `${inFlight} in flight`,
    ...(left === null
      ? []
      : [left === 0 ? "next request is the trial" : `tried again in ${formatSecs(left)}`]),
    ...(error === null || at === null
      ? []
      : [`last error ${new Date(at * 1000).toLocaleTimeString()}: ${error}`]),
  ];
}
