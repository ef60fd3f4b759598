// The composition root: builds engines and the HTTP application from settings. Everything is handed what it needs here;
// nothing else knows who works with whom.

import { plainConverse } from "./agent/plain.ts";
import type { Settings } from "./config/settings.ts";
import { DRAIN_MS, FLUSH_MS } from "./core/limits.ts";
import type { Generate } from "./core/run.ts";
import { reasonOf, StartError } from "./core/start-error.ts";
import { VERSION } from "./core/version.ts";
import { newTuning } from "./app-measure.ts";
import { createModels, type ModelOptions } from "./app-models.ts";
import { openStores } from "./app-stores.ts";
import { newSystem } from "./app-system.ts";
import type { Models } from "./engine/models.ts";
import { accessLine, inBatches } from "./http/access-log.ts";
import type { HttpDeps } from "./http/deps.ts";
import { toErrorData } from "./http/errors.ts";
import { createHttp, listen, type Listening } from "./http/server.ts";
import { Metrics } from "./metrics/metrics.ts";
import { publicFetch } from "./net/public-fetch.ts";
import { BackgroundResponses } from "./responses/background.ts";
import { ResponseStore } from "./responses/store.ts";

export interface AppOptions extends ModelOptions {
  /** Silence on a stream after which a comment is sent, milliseconds. */
  readonly keepAliveMs?: number;
}

/** What is told about each request, besides metrics. */
function observers({ settings, log }: AppOptions): Pick<HttpDeps, "accessLog" | "requestIdHeader"> {
  const { server } = settings;
  const requestIdHeader = !server.disable_request_id_header;
  if (server.disable_access_log) return { requestIdHeader };
  const write = inBatches(log);
  return {
    requestIdHeader,
    accessLog: (request) => {
      if (request.housekeeping && !server.access_log_health) return;
      write(accessLine(request, server.access_log_format, new Date()));
    },
  };
}

/** A server that answers. */
export interface RunningServer {
  readonly models: Models;
  /** Resolves when the models are loaded that are wanted from the start; rejects with the reason why one can't be. */
  readonly loaded: Promise<void>;
  readonly port: number;
  /** Stops: no new requests, running ones finish up to a deadline, engines end. */
  close(): Promise<void>;
}

/** Listens at once and loads the models meanwhile. Throws StartError. */
export function startServer(options: AppOptions): RunningServer {
  const { settings, log, keepAliveMs } = options;
  const metrics = settings.server.disable_metrics ? undefined : new Metrics();
  let draining = false;
  const models = createModels(options, metrics && (() => metrics.newEngine()));
  const generate: Generate = (request, signal) => models.generate(request, signal);
  const stores = openStores(options);
  const { state, files, sessions, skills } = stores;
  const converse = plainConverse({ generate, sessions, files, fetchFile: publicFetch() });
  const tuning = newTuning(options, models);
  const responses = new ResponseStore(state);
  const background = new BackgroundResponses({
    converse,
    store: responses,
    failureOf: (thrown) => toErrorData(thrown, log),
    clock: () => Math.floor(Date.now() / 1000),
  });
  const app = createHttp({
    generate,
    converse,
    responses,
    background,
    files,
    sessions,
    skills,
    embed: (request, signal) => models.embed(request, signal),
    models: () => models.list(),
    control: models,
    tune: tuning.tune,
    fingerprint: `svc-${VERSION}`,
    draining: () => draining,
    log,
    system: newSystem(options, models, () => server.port),
    ...observers(options),
    ...(metrics === undefined ? {} : { metrics }),
    ...(settings.server.api_keys === undefined ? {} : { apiKeys: settings.server.api_keys }),
    ...(keepAliveMs === undefined ? {} : { keepAliveMs }),
  });
  // The port comes first: if it is taken, no model has been loaded in vain.
  const server = listenOrSay(app, settings);
  return {
    models,
    loaded: models.loadAll(),
    port: server.port,
    close: async () => {
      draining = true;
      tuning.close();
      await drain(server, models, background);
      stores.close();
    },
  };
}

function listenOrSay(app: Parameters<typeof listen>[0], { server: { host, port } }: Settings): Listening {
  try {
    return listen(app, { hostname: host, port });
  } catch (error) {
    const isTaken = error instanceof Error && "code" in error && error.code === "EADDRINUSE";
    const reason = isTaken ? "it is in use by another program" : reasonOf(error);
    const message = `cannot listen on ${host}:${port}: ${reason}. Choose another with --port.`;
    throw new StartError(message, { cause: error });
  }
}

/**
 * Waits for running requests up to the deadline, then ends everything. An answer that is complete may still be on its way
 * to a slow reader, and one that was not learns so from its last frame: both get their time before connections are cut.
 */
async function drain(server: Listening, models: Models, background: BackgroundResponses): Promise<void> {
  const deadline = performance.now() + DRAIN_MS;
  while (models.activeRuns() > 0 && performance.now() < deadline) await Bun.sleep(20);
  await background.close();
  await models.stop();
  const leftMs = Math.max(FLUSH_MS, deadline - performance.now());
  await Promise.race([server.stop(false), Bun.sleep(leftMs)]);
  await server.stop(true);
}
