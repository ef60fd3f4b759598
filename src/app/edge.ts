// Keys, client addresses and connections of the server, from settings.

import type { Settings } from "../config/settings.ts";
import { socketPathOf } from "../core/listen-addresses.ts";
import { KeyQuotas } from "../access/quotas.ts";
import { type Accounts, openAccounts } from "./accounts.ts";
import { DROPS_CHECK_MS } from "./limits.ts";
import { SPEECHES_MAX } from "../engine/limits.ts";
import { upstreamPlaces } from "./upstreams.ts";
import type { ModelInfo, ModelKind } from "../core/model-info.ts";
import { raiseBacklog } from "../../ffi/linux/listen-backlog.ts";
import { Admission } from "../http/admission.ts";
import type { ApiKeys } from "../http/api-keys.ts";
import type { Metrics } from "../metrics/metrics.ts";
import { clientAddresses } from "../net/client-address.ts";
import { crowdCheck, droppedConnections } from "../net/connections.ts";
import { localClients } from "../net/local-client.ts";

/** Admission and API keys. */
export interface Edge extends Accounts {
  readonly quotas: KeyQuotas;
  readonly admission: Admission;
  /** Owner of records from before there were keys. */
  readonly legacyOwner: () => string;
}

export interface EdgeOptions {
  /** Those that are served. */
  readonly models: () => readonly ModelInfo[];
  /** Tokens that an owner has spent today. */
  readonly tokensToday: (owner: string) => number;
  readonly log: (line: string) => void;
}

/** Throws StartError. */
export function newEdge(settings: Settings, { models, tokensToday, log }: EdgeOptions): Edge {
  const { server, runtime } = settings;
  const proxies = server.trusted_proxies ?? [];
  const { apiKeys, replaceKeys } = openAccounts(settings, log);
  const quotas = new KeyQuotas({ tokensToday, clock: Date.now, elapsed: () => performance.now() });
  const atOnce: Readonly<Record<ModelKind, number>> = {
    text: runtime.max_seqs,
    image: 1,
    speech: SPEECHES_MAX,
  };
  const upstream = upstreamPlaces(settings);
  const served = (kind: ModelKind): number =>
    models().filter(({ id, parent, ...model }) => {
      return model.kind === kind && parent === undefined && !upstream.has(id);
    }).length;
  const placesOf = (kind: ModelKind): number => {
    const upstreams = models().flatMap(({ id, ...model }) =>
      model.kind === kind ? (upstream.get(id) ?? []) : [],
    );
    const own = upstreams.length > 0 ? served(kind) : Math.max(1, served(kind));
    return upstreams.reduce((sum, places) => sum + places, own * (atOnce[kind] + server.queue_max));
  };
  const admission = new Admission({
    keys: apiKeys,
    quotas,
    addressOf: clientAddresses(proxies),
    placesOf,
    isCrowded: crowdCheck(server.max_connections),
  });
  return { admission, apiKeys, quotas, replaceKeys, legacyOwner: () => apiKeys.legacyOwner };
}

/** Whether a client may do something. `peer`: the other end of a connection. */
export type ClientCheck = (peer: string | undefined, headers: Headers) => boolean;

/** Which clients may change the models: all, where the operator says so, else those with a key or of this machine. */
export function mayChangeModels(server: Settings["server"], keys: ApiKeys): ClientCheck {
  return server.models_mutable === true ? () => true : hasKeyOrIsLocal(server, keys);
}

/** All clients, where keys are needed, else those of this machine. */
export function hasKeyOrIsLocal(
  { trusted_proxies: proxies = [] }: Settings["server"],
  keys: ApiKeys,
): ClientCheck {
  const isLocal = localClients(proxies);
  return (peer, headers) => keys.isRequired || isLocal(peer, headers);
}

/**
 * Has the kernel hold more connections for the ports, and counts those that it drops nonetheless. Returns how to end that.
 */
export function watchConnections(
  listening: readonly { readonly hostname: string; readonly port: number }[],
  metrics: Metrics | undefined,
  log: (line: string) => void,
): () => void {
  for (const { hostname, port } of listening) raiseBacklog(socketPathOf(hostname) ?? port);
  const before = droppedConnections();
  if (before === undefined) return () => undefined; // the system does not tell
  const dropped = (): number => Math.max(0, (droppedConnections() ?? before) - before);
  metrics?.watchDroppedConnections(dropped);
  let told = 0;
  const timer = setInterval(() => {
    const count = dropped();
    if (count > told) log(droppedLine(count - told));
    told = count;
  }, DROPS_CHECK_MS);
  return () => clearInterval(timer);
}

function droppedLine(count: number): string {
  return `the kernel dropped ${count} connection attempts: a listen backlog on this machine was full. Clients try again after a second; raise net.core.somaxconn if it is small (svc doctor says so)`;
}
