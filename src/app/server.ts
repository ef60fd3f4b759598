// The composition root: builds engines and the HTTP application from settings. Everything is handed what it needs here;
// nothing else knows who works with whom.

import { networkInterfaces } from "node:os";
import { hostname } from "node:os";
import { Approvals } from "../agent/approvals.ts";
import { defined } from "../core/defined.ts";
import { reasonOf } from "../core/reason.ts";
import { createAgent, toolLine } from "./agent.ts";
import { openMcp, toolCountsOf } from "./mcp.ts";
import type { Settings } from "../config/settings.ts";
import type { Converse } from "../core/agent.ts";
import { asServer } from "../core/caller.ts";
import { HOSTED_TOOLS } from "../core/compat.ts";
import { FLUSH_MS } from "./limits.ts";
import type { McpConfig } from "../core/mcp-config.ts";
import type { Embed } from "../core/run.ts";
import { StartError } from "../core/start-error.ts";
import type { State } from "../core/state.ts";
import { VERSION } from "../core/version.ts";
import { newTuning } from "./measure.ts";
import { createRequantizers, requantizing } from "./requantizers.ts";
import { createAdapters, loadAdapters, residentAdapters } from "./adapters.ts";
import { modelName } from "../config/model-name.ts";
import { newEdge, watchConnections } from "./edge.ts";
import { type Applied, liveSettings } from "./live-settings.ts";
import { openImages } from "./images.ts";
import type { ModelOptions } from "./model-files.ts";
import { createModels } from "./models.ts";
import { openSearch } from "./search.ts";
import { openStores } from "./stores.ts";
import { newSystem } from "./system.ts";
import type { Models } from "../engine/models.ts";
import type { CompatOptions, HttpDeps } from "../http/deps.ts";
import { toErrorData } from "../http/errors.ts";
import type { HostPolicy } from "../http/hooks/hosts.ts";
import type { OriginPolicy } from "../http/hooks/origins.ts";
import { createMcp } from "../http/mcp/server.ts";
import { createHttp, type Handler, listen, type Listening } from "../http/server.ts";
import type { McpServers } from "../mcp/servers.ts";
import { Metrics } from "../metrics/metrics.ts";
import type { Pool } from "../upstream/pool.ts";
import { publicFetch } from "../net/public-fetch.ts";
import { BackgroundResponses } from "../responses/background.ts";
import { ResponseStore } from "../responses/store.ts";
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
  keepAliveMs,
}: AppOptions): Pick<HttpDeps, "keepAliveMs" | "requestIdHeader" | "ui"> {
  const { server } = settings;
  return {
    requestIdHeader: !server.disable_request_id_header,
    ui: !server.no_ui,
    ...defined({ keepAliveMs }),
  };
}

/**
 * Which web pages may use the server. Any, as the interface has it; but where no key is needed, only pages of this machine may
 * load, unload or change models, or use anything at all where models act here. The log is told where more than pages can.
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
  if (server.allowed_origins === undefined && server.api_keys !== undefined) return undefined;
  const origins = server.allowed_origins ?? [];
  if (origins.includes("*")) return undefined;
  const scope = isOpen || server.allowed_origins !== undefined ? "all" : "commands";
  return { origins, hosts: ownNames(server.host), scope };
}

function webPolicies(
  options: AppOptions,
  tools: Tools,
  mcp: McpServers | undefined,
): Pick<HttpDeps, "originPolicy" | "hostPolicy" | "isToolPeer"> {
  const pages = pagePolicy(options, tools, mcp);
  const hosts = hostPolicy(options.settings);
  return {
    ...defined({ originPolicy: pages, hostPolicy: hosts, isToolPeer: tools.isToolPeer }),
  };
}

/** Where no key is needed, names that strangers can point here are refused: a page under one would pass for one of ours. */
function hostPolicy({ server }: Settings): HostPolicy | undefined {
  if (server.api_keys !== undefined) return undefined;
  return { allowed: server.allowed_hosts ?? [], own: ownNames(server.host) };
}

function ownNames(host: string): readonly string[] {
  return [host, hostname(), `${hostname()}.local`];
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
  /** Port for Ollama's clients, where there is one. */
  readonly ollamaPort?: number;
  /** What models can do here, for the operator. */
  readonly toolLine: string | undefined;
  /** Takes over what can change while the server runs. */
  readonly apply: (next: Settings) => Applied;
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

/** Models with what stands before them: adapters, and what changes their weights. */
function servedModels(options: AppOptions, metrics: Metrics | undefined) {
  const resident = residentAdapters(options);
  const pools: Pool[] = [];
  const models = createModels(options, {
    resident,
    weightsOf: (model) => requantizers.get(modelName(model))?.weights ?? {},
    newMeter: metrics && (() => metrics.newEngine()),
    onPool: (pool) => void pools.push(pool),
  });
  const requantizers = createRequantizers(models, options);
  const adapters = createAdapters(models, resident, options);
  if (pools.length > 0) metrics?.watchUpstreams(() => pools.map((pool) => pool.stats()));
  metrics?.watchRequantizations(() =>
    [...requantizers.values()].flatMap(({ progress }) => (progress ? [progress.permille / 1000] : [])),
  );
  return { models, adapters, requantizing: requantizing(models, requantizers) };
}

/** Stored responses, and those that are answered without a client. */
function openResponses(state: State, converse: Converse, log: (line: string) => void) {
  const responses = asServer(() => new ResponseStore(state));
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
  const edge = newEdge(settings, () => adapters.cards());
  const live = liveSettings(settings, edge.apiKeys, log);
  const stores = openStores(options, edge.heir);
  const approvals = new Approvals();
  const embed: Embed = (request, signal) => models.embed(request, signal);
  const fetchPublic = publicFetch();
  const web = openSearch({ settings, embed, fetchPublic, log });
  const kept = { files: stores.files, sessions: stores.sessions, skills: stores.skills };
  const surroundings = { settings, tools, mcp, ...kept, approvals, log };
  const agent = createAgent({ ...surroundings, web, generate: adapters.generate, fetchFile: fetchPublic });
  const converse = adapters.withTarget(agent.converse);
  const { responses, background } = openResponses(stores.state, converse, log);
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
    rank: (request, signal) => models.rank(request, signal),
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
    ...defined({ toolCounts }),
    system: newSystem(options, models, () => server.port),
    ...httpSettings(options),
    ...edge,
    compat: compatSetting(settings, tools),
    ...live,
    ...webPolicies(options, tools, mcp),
    ...defined({ metrics }),
  };
  // Ports come first: if one is taken, no model has been loaded in vain.
  const { server, mcpServer, ollamaServer } = listenAll(deps, settings);
  const listening = [server, mcpServer, ollamaServer].filter((one) => one !== undefined);
  const unwatch = watchConnections(listening, metrics, log);
  return {
    models,
    loaded: models.loadAll().then(() => loadAdapters(adapters, models, options)),
    ...portsOf({ server, mcpServer, ollamaServer }),
    toolLine: toolLine(tools, web, settings),
    apply: live.apply,
    close: async () => {
      stopping.abort();
      approvals.close();
      const isBusy = () => models.activeRuns() + agent.activeAnswers() > 0;
      await drain(listening, { isBusy, drainMs: settings.server.drain_timeout * 1000 }, async () => {
        await background.close();
        await Promise.all([models.stop(), tools.close(), mcp?.close()]);
      });
      unwatch();
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

interface Listeners {
  readonly server: Listening;
  readonly mcpServer?: Listening | undefined;
  readonly ollamaServer?: Listening | undefined;
}

function portsOf({ server, mcpServer, ollamaServer }: Listeners) {
  return {
    port: server.port,
    ...defined({ mcpPort: mcpServer?.port, ollamaPort: ollamaServer?.port }),
  };
}

/** The server itself and, where they are asked for, the MCP endpoint and Ollama's port. Without its MCP endpoint it does not listen. */
function listenAll(deps: HttpDeps, { server: { host, port, mcp_port, ollama_port } }: Settings): Listeners {
  const app = createHttp(deps);
  const server = listenOrSay(app, { host, port, flag: "--port" });
  try {
    return {
      server,
      ...(mcp_port === undefined
        ? {}
        : {
            mcpServer: listenOrSay(createMcp({ ...deps, host }), {
              host,
              port: mcp_port,
              flag: "--mcp-port",
            }),
          }),
      ...(ollama_port === undefined ? {} : listenForOllama(app, { host, port: ollama_port }, deps.log)),
    };
  } catch (error) {
    void server.stop(true);
    throw error;
  }
}

/** The same application on Ollama's port. Taken, as by Ollama itself, it is only warned of: the main port has all routes too. */
function listenForOllama(
  app: Handler,
  place: Omit<Place, "flag">,
  log: (line: string) => void,
): Pick<Listeners, "ollamaServer"> {
  try {
    return { ollamaServer: listenOrSay(app, { ...place, flag: "--ollama-port" }) };
  } catch (error) {
    log(`warning: ${reasonOf(error)} Ollama's clients can use the main port.`);
    return {};
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
    const code = error instanceof Error && "code" in error ? error.code : undefined;
    const place = `cannot listen on ${host}:${port}:`;
    if (code === "EADDRNOTAVAIL") {
      const own = Object.values(networkInterfaces()).flatMap((all) =>
        (all ?? []).map(({ address }) => address),
      );
      const fix = `Use --host 0.0.0.0 for all addresses, or one of: ${own.join(", ")}.`;
      throw new StartError(`${place} ${host} is no address of this machine. ${fix}`, { cause: error });
    }
    if (code === "ENOENT" || code === "ENOTFOUND")
      throw new StartError(
        `${place} the host name is unknown. Use --host 0.0.0.0 for all addresses, or an address of this machine.`,
        { cause: error },
      );
    if (code === "EACCES")
      throw new StartError(`${place} ports below 1024 need root. Choose another with ${flag}.`, {
        cause: error,
      });
    const reason = code === "EADDRINUSE" ? "it is in use by another program" : reasonOf(error);
    throw new StartError(`${place} ${reason}. Choose another with ${flag}.`, { cause: error });
  }
}

/**
 * Waits for running requests up to the deadline, then ends everything. An answer that is complete may still be on its way
 * to a slow reader, and one that was not learns so from its last frame: both get their time before connections are cut.
 */
async function drain(
  servers: readonly Listening[],
  { isBusy, drainMs }: { readonly isBusy: () => boolean; readonly drainMs: number },
  stop: () => Promise<void>,
): Promise<void> {
  const deadline = performance.now() + drainMs;
  while (isBusy() && performance.now() < deadline) await Bun.sleep(20);
  await stop();
  const leftMs = Math.max(FLUSH_MS, deadline - performance.now());
  await Promise.race([Promise.all(servers.map((server) => server.stop(false))), Bun.sleep(leftMs)]);
  await Promise.all(servers.map((server) => server.stop(true)));
}
