// The part of the composition root that is about models on upstream servers: from settings to their pools.

import { defined } from "../core/defined.ts";
import { isSendable, readSecret } from "../core/secret.ts";
import { kindOf, type ModelOptions } from "../models/model-files.ts";
import { modelName } from "../config/model-name.ts";
import type { ModelSettings, Settings } from "../config/settings.ts";
import { processEnvironment } from "../config/sources.ts";
import { StartError } from "../core/start-error.ts";
import type { Models } from "../engine/models.ts";
import { Connections } from "../upstream/connections.ts";
import { CONNECTIONS_BY_DEFAULT, CONNECTIONS_RESERVED } from "../upstream/limits.ts";
import { UpstreamModel } from "../upstream/model.ts";
import type { UpstreamOptions } from "../upstream/options.ts";
import { UpstreamServer } from "../upstream/server.ts";
import type { UpstreamFinding } from "../system/doctor.ts";

/** Shared state of all pools. */
export interface UpstreamParts {
  readonly connections: Connections;
  /** Finds fallbacks when they are needed. */
  readonly models: () => Models;
}

/** Environment name of the most connections that Bun's HTTP client opens. Read by Bun when it starts. */
const CONNECTIONS_NAME = "BUN_CONFIG_MAX_HTTP_REQUESTS";

/** The bound on connections that the runtime was started with. */
export function upstreamConnections(): Connections {
  return new Connections(connectionsMax());
}

function connectionsMax(): number {
  const stated = Number(processEnvironment()[CONNECTIONS_NAME] ?? Number.NaN);
  const max = Number.isInteger(stated) && stated > CONNECTIONS_RESERVED ? stated : CONNECTIONS_BY_DEFAULT;
  return max - CONNECTIONS_RESERVED;
}

/** Requests that each upstream model, by its id, may have in flight or waiting. */
export function upstreamPlaces({ models }: Settings): ReadonlyMap<string, number> {
  const max = connectionsMax();
  const places = (model: ModelSettings): number => {
    const inFlight = model.upstreams.reduce((sum, upstream) => sum + (upstream.max_inflight ?? max), 0);
    return Math.min(inFlight, max) + model.routing.max_queue;
  };
  return new Map(
    models.filter(({ kind }) => kind === "upstream").map((model) => [modelName(model), places(model)]),
  );
}

/** The pool of an entry with kind = "upstream". Throws StartError for a key that cannot be read. */
export function upstreamModel(
  model: ModelSettings,
  { log }: Pick<ModelOptions, "log">,
  { connections, models }: UpstreamParts,
): UpstreamModel {
  const { routing, upstreams, fallback = [], device } = model;
  const name = modelName(model);
  return new UpstreamModel({
    name,
    kind: kindOf(model),
    upstreams: upstreams.map((upstream) => upstreamOptions(upstream, model)),
    routing: {
      policy: routing.policy,
      firstTokenMs: routing.first_token_timeout * 1000,
      retries: routing.retries,
      cooldownMs: routing.cooldown * 1000,
      queueMax: routing.max_queue,
    },
    ...defined({ contextTokens: device.max_seq_len }),
    connections,
    fallbacks: () => fallback.map((id) => ({ id, model: models().resolve(id).model })),
    log: (line) => log(`${name}: ${line}`),
  });
}

/** Asks every upstream of an entry for its model list, without an effect on requests. */
export async function askUpstreams(
  model: ModelSettings,
  log: (line: string) => void,
): Promise<readonly UpstreamFinding[]> {
  const health = { cooldownMs: 0, now: () => performance.now(), log };
  return Promise.all(
    model.upstreams.map(async (upstream) => {
      const server = new UpstreamServer(upstreamOptions(upstream, model), health);
      const startedMs = performance.now();
      const verdict = await server.probe();
      const { name, facts } = server;
      const context = facts.contextTokens === undefined ? "" : `, context ${facts.contextTokens} tokens`;
      const detail = `${facts.engine}${context}, model list in ${Math.round(performance.now() - startedMs)} ms`;
      return { name, detail, ...(verdict.type === "failed" ? { problem: verdict.problem } : {}) };
    }),
  );
}

function upstreamOptions(
  upstream: ModelSettings["upstreams"][number],
  model: ModelSettings,
): UpstreamOptions {
  const { url, probe, weight, max_inflight: maxInFlight } = upstream;
  const key = upstream.key === undefined ? undefined : readKey(upstream.key, modelName(model));
  return {
    url: url.replace(/\/+$/, ""),
    model: upstream.model ?? model.model_id,
    probe,
    weight,
    ...defined({ key, maxInFlight }),
  };
}

/** The key that `env:NAME`, `path:FILE` or `literal:KEY` names. Its value is never part of an error. */
function readKey(source: string, model: string): string {
  const key = readSecret(source, processEnvironment()) ?? "";
  if (isSendable(key)) return key;
  const what = source.startsWith("literal:") ? "its key" : `the key that ${source} names`;
  const problem = key === "" ? "is not set" : "has characters that are not allowed in a header";
  throw new StartError(`${model}: ${what} ${problem}. Set it, or omit key.`);
}
