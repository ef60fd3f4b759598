// The composition root: builds engines and the HTTP application from settings. Everything is handed what it needs here;
// nothing else knows who works with whom.

import { hostname } from "node:os";
import { Approvals } from "./agent/approvals.ts";
import { createAgent, toolLine } from "./app-agent.ts";
import { openMcp, toolCountsOf } from "./app-mcp.ts";
import type { Settings } from "./config/settings.ts";
import type { Converse } from "./core/agent.ts";
import { DRAIN_MS, FLUSH_MS } from "./core/limits.ts";
import type { McpConfig } from "./core/mcp-config.ts";
import type { Embed } from "./core/run.ts";
import { reasonOf, StartError } from "./core/start-error.ts";
import type { State } from "./core/state.ts";
import { VERSION } from "./core/version.ts";
import { newTuning } from "./app-measure.ts";
import { createRequantizers, requantizing } from "./app-quantized.ts";
import { createAdapters, loadAdapters, residentAdapters } from "./app-adapters.ts";
import { modelName } from "./config/model-name.ts";
import { openImages } from "./app-images.ts";
import { abilitiesOf, createModels, type ModelOptions } from "./app-models.ts";
import { openSearch } from "./app-search.ts";
import { openStores } from "./app-stores.ts";
import { newSystem } from "./app-system.ts";
import type { Models } from "./engine/models.ts";
import { accessLine, inBatches } from "./http/access-log.ts";
import type { HttpDeps } from "./http/deps.ts";
import { toErrorData } from "./http/errors.ts";
import type { OriginPolicy } from "./http/hooks/origins.ts";
import { createMcp } from "./http/mcp/server.ts";
import { createHttp, type Handler, listen, type Listening } from "./http/server.ts";
import type { McpServers } from "./mcp/servers.ts";
import { Metrics } from "./metrics/metrics.ts";
import { publicFetch } from "./net/public-fetch.ts";
import { BackgroundResponses } from "./responses/background.ts";
import { ResponseStore } from "./responses/store.ts";
import { openTools, type Tools } from "./tools.ts";

export interface AppOptions extends ModelOptions {
  /** Silence on a stream after which a comment is sent, milliseconds. */
  readonly keepAliveMs?: number;
  /** Servers whose tools models may call. */
  readonly mcp?: McpConfig;
}

/** What settings say about every request, besides metrics. */
function httpSettings({
  settings,
  log,
  keepAliveMs,
}: AppOptions): Pick<HttpDeps, "accessLog" | "apiKeys" | "keepAliveMs" | "requestIdHeader"> {
  const { server } = settings;
  const common = {
    requestIdHeader: !server.disable_request_id_header,
    ...(server.api_keys === undefined ? {} : { apiKeys: server.api_keys }),
    ...(keepAliveMs === undefined ? {} : { keepAliveMs }),
  };
  if (server.disable_access_log) return common;
  const write = inBatches(log);
  return {
    ...common,
    accessLog: (request) => {
      if (request.housekeeping && !server.access_log_health) return;
      write(accessLine(request, server.access_log_format, new Date()));
    },
  };
}

/**
 * Which web pages may use the server. Any, as the interface has it; but where models act on this machine and nobody needs a
 * key, a page that somebody happens to look at could have them do so. The log is told where more than pages can.
 */
function pagePolicy(
  { settings: { server }, log }: AppOptions,
  { protection }: Tools,
  mcp: McpServers | undefined,
): OriginPolicy | undefined {
  const acts = protection !== undefined || mcp !== undefined || server.tool_dispatch_url !== undefined;
  const isOpen = acts && server.api_keys === undefined;
  if (isOpen && !LOOPBACK_HOSTS.has(server.host)) {
    log("anybody who can reach this port can have models act here: set --host 127.0.0.1, or server.api_keys");
  }
  if (server.allowed_origins === undefined && !isOpen) return undefined;
  const origins = server.allowed_origins ?? [];
  if (origins.includes("*")) return undefined;
  return { origins, hosts: [server.host, hostname(), `${hostname()}.local`] };
}

const LOOPBACK_HOSTS: ReadonlySet<string> = new Set(["127.0.0.1", "::1", "localhost"]);

/** A server that answers. */
export interface RunningServer {
  readonly models: Models;
  /** Resolves when the models are loaded that are wanted from the start; rejects with the reason why one can't be. */
  readonly loaded: Promise<void>;
  readonly port: number;
  /** Port of the MCP endpoint, where there is one. */
  readonly mcpPort?: number;
  /** What models can do here, for the operator. */
  readonly toolLine: string | undefined;
  /** Stops: no new requests, running ones finish up to a deadline, engines end. */
  close(): Promise<void>;
}

/** Tries the tools out, listens, and loads the models meanwhile. Rejects with StartError. */
export async function startServer(options: AppOptions): Promise<RunningServer> {
  const tools = await toolsOf(options);
  const mcp = openMcp(options.mcp, options.log);
  try {
    return startWith(tools, mcp, options);
  } catch (error) {
    await Promise.all([tools.close(), mcp?.close()]);
    throw error;
  }
}

/** Models with what stands before them: adapters, and what changes their weights. */
function servedModels(options: AppOptions, metrics: Metrics | undefined) {
  const resident = residentAdapters(options);
  const models = createModels(options, {
    resident,
    weightsOf: (model) => requantizers.get(modelName(model))?.weights ?? {},
    newMeter: metrics && (() => metrics.newEngine()),
  });
  const requantizers = createRequantizers(models, options);
  const adapters = createAdapters(models, resident, options);
  metrics?.watchRequantizations(() =>
    [...requantizers.values()].flatMap(({ progress }) => (progress ? [progress.permille / 1000] : [])),
  );
  return { models, adapters, requantizing: requantizing(models, requantizers) };
}

/** Stored responses, and those that are answered without a client. */
function openResponses(state: State, converse: Converse, log: (line: string) => void) {
  const responses = new ResponseStore(state);
  const background = new BackgroundResponses({
    converse,
    store: responses,
    failureOf: (thrown) => toErrorData(thrown, log),
    clock: () => Math.floor(Date.now() / 1000),
  });
  return { responses, background };
}

function startWith(tools: Tools, mcp: McpServers | undefined, options: AppOptions): RunningServer {
  const { settings, log } = options;
  const metrics = settings.server.disable_metrics ? undefined : new Metrics();
  const stopping = new AbortController();
  const { models, adapters, ...weights } = servedModels(options, metrics);
  const stores = openStores(options);
  const { files, sessions, skills } = stores;
  const approvals = new Approvals();
  const embed: Embed = (request, signal) => models.embed(request, signal);
  const fetchPublic = publicFetch();
  const web = openSearch({ settings, embed, fetchPublic, log });
  const kept = { files, sessions, skills };
  const surroundings = { settings, tools, mcp, ...kept, approvals, log, ...abilitiesOf(models) };
  const agent = createAgent({ ...surroundings, web, generate: adapters.generate, fetchFile: fetchPublic });
  const converse = adapters.steady(agent.converse);
  const { responses, background } = openResponses(stores.state, converse, log);
  const originPolicy = pagePolicy(options, tools, mcp);
  const toolCounts = toolCountsOf(mcp, settings.server.tool_dispatch_url !== undefined);
  const pictures = openImages(models, options, metrics?.images);
  const deps: HttpDeps = {
    generate: adapters.generate,
    converse,
    answerApproval: approvals.answer,
    responses,
    background,
    ...kept,
    embed,
    ...pictures,
    speak: (request, signal) => models.speak(request, signal),
    adapters,
    ...weights,
    models: () => adapters.cards(),
    control: models,
    tune: newTuning(options, models, stopping.signal),
    fingerprint: `svc-${VERSION}`,
    draining: () => stopping.signal.aborted,
    log,
    ...(toolCounts === undefined ? {} : { toolCounts }),
    ui: !settings.server.no_ui,
    system: newSystem(options, models, () => server.port),
    ...httpSettings(options),
    ...(originPolicy === undefined ? {} : { originPolicy }),
    ...(metrics === undefined ? {} : { metrics }),
  };
  // Ports come first: if one is taken, no model has been loaded in vain.
  const [server, mcpServer] = listenAll(deps, settings);
  const listening = [server, mcpServer].filter((one) => one !== undefined);
  return {
    models,
    loaded: models.loadAll().then(() => loadAdapters(adapters, models, options)),
    port: server.port,
    ...(mcpServer === undefined ? {} : { mcpPort: mcpServer.port }),
    toolLine: toolLine(tools, web, settings),
    close: async () => {
      stopping.abort();
      approvals.close();
      const isBusy = () => models.activeRuns() + agent.activeAnswers() > 0;
      await drain(listening, isBusy, async () => {
        await background.close();
        await Promise.all([models.stop(), tools.close(), mcp?.close()]);
      });
      stores.close();
      pictures.imageFiles.close();
    },
  };
}

async function toolsOf({ settings, log }: AppOptions): Promise<Tools> {
  try {
    return await openTools(settings, log);
  } catch (error) {
    throw new StartError(reasonOf(error), { cause: error });
  }
}

/** The server itself and, where it is asked for, the MCP endpoint on a port of its own. Neither listens alone. */
function listenAll(deps: HttpDeps, { server }: Settings): readonly [Listening, Listening?] {
  const { host, port, mcp_port: mcpPort } = server;
  const main = listenOrSay(createHttp(deps), { host, port, flag: "--port" });
  if (mcpPort === undefined) return [main];
  try {
    return [main, listenOrSay(createMcp({ ...deps, host }), { host, port: mcpPort, flag: "--mcp-port" })];
  } catch (error) {
    void main.stop(true);
    throw error;
  }
}

interface Place {
  readonly host: string;
  readonly port: number;
  /** What changes the port. */
  readonly flag: string;
}

function listenOrSay(handler: Handler, { host, port, flag }: Place): Listening {
  try {
    return listen(handler, { hostname: host, port });
  } catch (error) {
    const isTaken = error instanceof Error && "code" in error && error.code === "EADDRINUSE";
    const reason = isTaken ? "it is in use by another program" : reasonOf(error);
    const message = `cannot listen on ${host}:${port}: ${reason}. Choose another with ${flag}.`;
    throw new StartError(message, { cause: error });
  }
}

/**
 * Waits for running requests up to the deadline, then ends everything. An answer that is complete may still be on its way
 * to a slow reader, and one that was not learns so from its last frame: both get their time before connections are cut.
 */
async function drain(
  servers: readonly Listening[],
  isBusy: () => boolean,
  stop: () => Promise<void>,
): Promise<void> {
  const deadline = performance.now() + DRAIN_MS;
  while (isBusy() && performance.now() < deadline) await Bun.sleep(20);
  await stop();
  const leftMs = Math.max(FLUSH_MS, deadline - performance.now());
  await Promise.race([Promise.all(servers.map((server) => server.stop(false))), Bun.sleep(leftMs)]);
  await Promise.all(servers.map((server) => server.stop(true)));
}
