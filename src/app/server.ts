// Composition root of `svc serve`: the core, the HTTP application around it and its listeners.

import { tmpdir } from "node:os";
import { join } from "node:path";
import { metered, type Work } from "../access/metered.ts";
import { meteredRuns } from "../access/run-meter.ts";
import { UsageBook } from "../access/usage-book.ts";
import { configFolder } from "../config/cache-folder.ts";
import { modelName } from "../config/model-name.ts";
import type { Settings } from "../config/settings.ts";
import { processEnvironment } from "../config/sources.ts";
import type { Converse } from "../core/agent.ts";
import { HOSTED_TOOLS } from "../core/compat.ts";
import { defined } from "../core/defined.ts";
import type { Draw } from "../core/image.ts";
import type { LoadFailure } from "../core/model-info.ts";
import type { Day } from "../core/telemetry.ts";
import type { OwnedState } from "../core/state.ts";
import { VERSION } from "../core/version.ts";
import type { Models } from "../engine/models.ts";
import type { CompatOptions, HttpDeps, McpAccess } from "../http/deps.ts";
import { toErrorData } from "../http/errors.ts";
import { LogDay, MetricsDay } from "../metrics/day.ts";
import { Metrics } from "../metrics/metrics.ts";
import type { Pool } from "../upstream/pool.ts";
import type { Requantizer } from "../quantize/requantizer.ts";
import { sweepRemoved } from "../sandbox/removal.ts";
import { BackgroundResponses } from "../responses/background.ts";
import { responseStore } from "../responses/store.ts";
import { historyStore } from "../sessions/history.ts";
import { HISTORY_MEMORY_BYTES_MAX } from "../sessions/limits.ts";
import { loadAdapters } from "./adapters.ts";
import { type Conversations, type ConversationOptions, openConversations } from "./conversations.ts";
import {
  type ClientCheck,
  type Edge,
  hasKeyOrIsLocal,
  mayChangeModels,
  newEdge,
  watchConnections,
} from "./edge.ts";
import { cardsOf } from "../models/device-capacity.ts";
import { openHub } from "./hub.ts";
import { machineFacts } from "./machine.ts";
import { openImages } from "./images.ts";
import { modelChanges } from "../models/model-changes.ts";
import { ModelChoices } from "../models/model-choices.ts";
import { freeSocketFile } from "./socket-file.ts";
import { drain, listenAll, portsOf } from "./listen.ts";
import { type Applied, type Live, liveSettings } from "./live-settings.ts";
import { toolCountsOf } from "../mcp/first-connect.ts";
import { newTuning } from "./measure.ts";
import { createRequantizers, requantizing } from "./requantizers.ts";
import { openPayloadLog, type PayloadLog } from "./payload-log.ts";
import { newSystem } from "./system.ts";
import type { Tools } from "./tools.ts";
import { openTraces, type Traces } from "./traces.ts";
import { webPolicies } from "./web-policies.ts";

export interface AppOptions extends ConversationOptions {
  /** Silence on a stream after which a comment is sent, milliseconds. */
  readonly keepAliveMs?: number;
}

/** Settings of every request, besides metrics. */
function httpSettings({
  settings,
  keepAliveMs,
}: AppOptions): Pick<HttpDeps, "keepAliveMs" | "requestIdHeader" | "ui"> {
  const { server } = settings;
  return {
    requestIdHeader: !server.disable_request_id_header,
    ui: !server.no_ui,
    ...defined({ keepAliveMs }),
  };
}

/** A server that answers. */
export interface RunningServer {
  readonly models: Models;
  /**
   * Resolves when the models are loaded that are wanted from the start, with those that can't be; rejects with the reason where none
   * can.
   */
  readonly loaded: Promise<readonly LoadFailure[]>;
  readonly port: number;
  /** Port of the MCP endpoint, where there is one. */
  readonly mcpPort?: number;
  /** Port for Ollama's clients, where there is one. */
  readonly ollamaPort?: number;
  /** Tools of the models in one line, for the operator. */
  readonly toolLine: string | undefined;
  /** Takes over what can change while the server runs. */
  readonly apply: (next: Settings) => Applied;
  /** Stops: no new requests, running ones finish up to a deadline, engines end. */
  close(): Promise<void>;
}

/** Tests the tools, listens, and loads the models meanwhile. Rejects with StartError. */
export async function startServer(given: AppOptions): Promise<RunningServer> {
  const logDay = new LogDay();
  const log = (line: string): void => {
    logDay.add(line);
    given.log(line);
  };
  const options = { ...given, log };
  const { settings } = options;
  void sweepRemoved(tmpdir());
  const metrics = settings.server.disable_metrics ? undefined : new Metrics();
  const edge = newEdge(settings, {
    models: () => core.adapters.cards(),
    tokensToday: (owner) => usage.tokensToday(owner),
    log,
  });
  const requantizers = new Map<string, Requantizer>();
  const pools: Pool[] = [];
  const choices = choicesOf(options);
  const runs = { quotas: edge.quotas, models: () => core.adapters.cards() };
  const core = await openConversations(options, {
    counted: (generate, by) => (request, signal, caller) => {
      const name = by === "request" ? caller.countedAs : undefined;
      return meteredRuns({ ...runs, usage }, generate, name)(request, signal, caller);
    },
    ...defined({ meter: metrics?.agent }),
    legacyOwner: edge.legacyOwner,
    models: {
      weightsOf: (model) => requantizers.get(modelName(model))?.weights ?? {},
      newMeter: metrics && (() => metrics.newEngine()),
      onPool: (pool) => void pools.push(pool),
      ...defined({ choices }),
    },
  });
  const usage = new UsageBook(core.stores.state);
  try {
    for (const [id, requantizer] of createRequantizers(core.models, options))
      requantizers.set(id, requantizer);
    if (pools.length > 0) metrics?.watchUpstreams(() => pools.map((pool) => pool.stats()));
    metrics?.watchUsage({ read: () => usage.sinceStart(), byKey: settings.server.metrics_keys });
    metrics?.watchModels(() => core.models.list());
    metrics?.watchRequantizations(() =>
      [...requantizers.values()].flatMap(({ progress }) => (progress ? [progress.permille / 1000] : [])),
    );
    const live = liveSettings(settings, edge, log);
    await freeSocketFile(settings.server.host);
    const payloads = await openPayloadLog(settings, log);
    return startWith({ core, choices, metrics, edge, usage, live, requantizers, logDay, payloads }, options);
  } catch (error) {
    await core.stop();
    throw error;
  }
}

/** How requests are treated that the interface refuses, and the tools that they may ask for. */
function compatSetting({ server, runtime }: Settings, { python, shell }: Tools): CompatOptions {
  const switchedOn = {
    code_execution: python !== undefined,
    shell: shell !== undefined,
    web_search: runtime.agent || runtime.enable_search,
  };
  const hosted = HOSTED_TOOLS.filter((tool) => switchedOn[tool]);
  return { mode: server.compat, hosted: new Set(hosted) };
}

/** Stored responses, and those that are answered without a client. */
function openResponses(state: OwnedState, converse: Converse, log: (line: string) => void) {
  const responses = responseStore(state);
  const background = new BackgroundResponses({
    converse,
    store: responses,
    failureOf: (thrown) => toErrorData(thrown, log),
    clock: () => Math.floor(Date.now() / 1000),
  });
  return { responses, background };
}

/** The hub for those who may change the models; absent where no client may. */
function hubAccess(models: Models, { choices, edge }: Pick<Parts, "choices" | "edge">, options: AppOptions) {
  const { server } = options.settings;
  if (choices === undefined) return { access: {}, stop: async () => undefined };
  const machine = options.machine ?? machineFacts(options);
  const cards = async () => cardsOf(models.hosts()) ?? (await machine.cards());
  const hub = openHub({ ...options, models, machine: { ...machine, cards } });
  const changes = modelChanges(models, choices);
  return {
    access: { hub: { hub, changes, isAllowed: mayChangeModels(server, edge.apiKeys) } },
    stop: () => hub.stop(),
  };
}

/** What people choose for models in the web interface; undefined where no client may change them. */
function choicesOf({ settings, log }: AppOptions): ModelChoices | undefined {
  if (settings.server.models_mutable === false) return undefined;
  return new ModelChoices(join(configFolder(processEnvironment()), "models.json"), log);
}

/** Which clients may add MCP servers in the web interface, and use them. */
function mayAddMcp({ server }: Settings, { apiKeys }: Edge): ClientCheck {
  return server.ui_mcp ? hasKeyOrIsLocal(server, apiKeys) : () => false;
}

/** Conversations of the web interface, where the server keeps them. */
function openHistory(
  state: OwnedState,
  { apiKeys }: Edge,
  { settings: { server }, log }: AppOptions,
): Pick<HttpDeps, "history"> {
  if (server.ui_history !== "server" || server.no_ui) return {};
  const isInMemory = server.state === "memory";
  if (isInMemory)
    log(
      "warning: --ui-history server keeps conversations in memory; set --state sqlite:FILE to keep them over a restart",
    );
  if (!apiKeys.isRequired)
    log("warning: --ui-history server: without API keys, all who reach this server share the conversations");
  const options = isInMemory ? { bytesMax: HISTORY_MEMORY_BYTES_MAX } : {};
  return { history: historyStore(state, options) };
}

interface Parts {
  readonly core: Conversations;
  readonly choices: ModelChoices | undefined;
  readonly metrics: Metrics | undefined;
  readonly edge: Edge;
  readonly usage: UsageBook;
  readonly live: Live;
  readonly requantizers: ReadonlyMap<string, Requantizer>;
  readonly logDay: LogDay;
  readonly payloads: PayloadLog | undefined;
}

/** What models do for clients, counted by key. */
function meteredWork({ core, edge: { quotas }, usage, metrics }: Parts, draw: Draw): Work {
  const { models, adapters, converse, embed } = core;
  return metered(
    { quotas, usage, models: () => adapters.cards(), meter: metrics?.answers },
    {
      generate: adapters.generate,
      converse,
      embed,
      rank: (request, signal, caller) => models.rank(request, signal, caller),
      draw,
      speak: (request, signal, caller) => models.speak(request, signal, caller),
    },
  );
}

/** What the web interface shows of the time before it was opened. */
function dayOf(log: LogDay, metrics: MetricsDay | undefined, traces: Traces): Day {
  return {
    log: () => log.list(),
    ...defined({ traces: traces.list }),
    ...(metrics && { metrics: () => metrics.columns() }),
  };
}

function mcpAccess({ core, edge }: Parts, settings: Settings): McpAccess {
  return {
    servers: core.pageMcp,
    isAllowed: mayAddMcp(settings, edge),
    mayReadLogs: hasKeyOrIsLocal(settings.server, edge.apiKeys),
  };
}

function startWith(parts: Parts, options: AppOptions): RunningServer {
  const { core, metrics, live, requantizers, logDay, usage } = parts;
  const { settings, log } = options;
  const { models, adapters, stores } = core;
  const stopping = new AbortController();
  const metricsDay = metrics && new MetricsDay(() => metrics.text());
  const images = openImages(models, options, metrics?.images);
  const traces = openTraces(settings, log);
  const work = meteredWork(parts, images.draw);
  const { responses, background } = openResponses(stores.state, work.converse, log);
  const hub = hubAccess(models, parts, options);
  const deps: HttpDeps = {
    ...settingsDeps(parts, options),
    ...work,
    answerApproval: core.answerApproval,
    responses,
    background,
    files: stores.files,
    sessions: stores.sessions.of,
    skills: stores.skills,
    usage: usage.read,
    imageFiles: images.imageFiles,
    adapters,
    requantizing: requantizing(models, requantizers),
    models: () => adapters.cards(),
    control: models,
    tune: newTuning(options, models, stopping.signal),
    draining: () => stopping.signal.aborted,
    ...defined({ tracer: traces.tracer }),
    day: dayOf(logDay, metricsDay, traces),
    system: newSystem(options, models, () => server.port),
    ...hub.access,
    mcp: mcpAccess(parts, settings),
    ...openHistory(stores.state, parts.edge, options),
  };
  // Ports come first: if one is taken, no model has been loaded in vain.
  const { server, mcpServer, ollamaServer } = listenAll(deps, settings);
  const listening = [server, mcpServer, ollamaServer].filter((one) => one !== undefined);
  const unwatch = watchConnections(listening, metrics, log);
  const stopSampling = metricsDay?.start();
  const close = async (): Promise<void> => {
    stopping.abort();
    core.closeApprovals();
    const wait = { isBusy: () => core.isBusy(), drainMs: settings.server.drain_timeout * 1000, log };
    const prepared = Promise.all([hub.stop(), models.stopPreparing()]);
    const stop = () => Promise.all([prepared, background.close().then(() => core.stop())]);
    if (!(await drain(listening, wait, stop))) return;
    unwatch();
    await parts.payloads?.close();
    stopSampling?.();
    await traces.close();
    stores.close();
    images.imageFiles.close();
  };
  const loadAll = async (): Promise<readonly LoadFailure[]> => {
    const failures = await models.loadAll();
    await loadAdapters(adapters, models, options);
    return failures;
  };
  return {
    models,
    loaded: loadAll(),
    ...portsOf({ server, mcpServer, ollamaServer }),
    toolLine: core.toolLine,
    apply: live.apply,
    close,
  };
}

/** Dependencies of requests that follow from settings. */
function settingsDeps(parts: Parts, options: AppOptions) {
  const { core, metrics, edge, live } = parts;
  const { tools, mcp } = core;
  const { settings, log } = options;
  const toolCounts = toolCountsOf(mcp, settings.server.tool_dispatch_url !== undefined);
  return {
    fingerprint: `svc-${VERSION}`,
    log,
    ...httpSettings(options),
    ...edge,
    compat: compatSetting(settings, tools),
    ...live,
    ...webPolicies({ ...options, keys: edge.apiKeys }, tools, mcp),
    ...defined({ metrics, toolCounts, payloads: parts.payloads?.take }),
  };
}
