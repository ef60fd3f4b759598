// All configured MCP servers: their tools under unique names, the limit on concurrent calls, and the clean-up of their
// processes.

import { defined } from "../core/defined.ts";
import type { McpConfig, McpSource } from "../core/mcp-config.ts";
import type { ConnectDeps } from "./connect.ts";
import type { ListedTool } from "./connection.ts";
import { McpFailure } from "./failure.ts";
import { Semaphore } from "../core/semaphore.ts";
import { OrphanGuard } from "./orphans.ts";
import { parametersOf } from "./parameters.ts";
import { McpServer } from "./server.ts";
import { toolNames } from "./tool-names.ts";
import type { McpAssets, McpPrompts, McpResources, McpResult, McpTool } from "./types.ts";

export interface McpServersDeps extends Pick<ConnectDeps, "fetch" | "fetchFor" | "signIns"> {
  /** svc's environment; server processes get only INHERITED. */
  readonly environment: Readonly<Record<string, string | undefined>>;
  readonly log: (line: string) => void;
}

/** State of a server, for display. */
export interface McpServerState {
  readonly id: string;
  readonly label: string;
  /** Absent for a process. */
  readonly host?: string;
  readonly isConnected: boolean;
  /** Why it is not connected; undefined before the first attempt has ended. */
  readonly problem: string | undefined;
  /** Whether it refuses access for lack of a valid token. */
  readonly needsToken: boolean;
  readonly tools: readonly McpTool[];
  /** Tools that are repaired or left out, and why. */
  readonly faults: readonly string[];
  /** What svc logged of it, and what its process wrote to stderr, oldest first. */
  readonly log: readonly string[];
}

/** Variables that server processes inherit: needed by programs and never secret. */
const INHERITED = ["HOME", "LANG", "LC_ALL", "LOGNAME", "PATH", "SHELL", "TERM", "TMPDIR", "TZ", "USER"];

export class McpServers {
  private readonly config: McpConfig;
  private readonly log: (line: string) => void;
  private readonly servers: readonly McpServer[];
  private readonly orphans: OrphanGuard;
  private readonly gate: Semaphore;
  private named: readonly McpTool[] = [];
  private namedFrom: readonly (readonly ListedTool[])[] = []; // the lists from which `named` was computed
  private readonly unnamed = new Map<McpServer, readonly string[]>(); // faults of names, by server

  /** Starts to connect. */
  constructor(config: McpConfig, { environment, log, fetch, fetchFor, signIns }: McpServersDeps) {
    this.config = config;
    this.log = log;
    this.gate = new Semaphore(config.callsMax);
    this.orphans = new OrphanGuard(log);
    const inherited = INHERITED.flatMap((name) => {
      const value = environment[name];
      return value === undefined ? [] : [[name, value] as const];
    });
    const deps = {
      log,
      orphans: this.orphans,
      environment: Object.fromEntries(inherited),
      ...defined({ fetch, fetchFor, signIns }),
    };
    this.servers = config.servers.map((server) => new McpServer(server, deps));
  }

  /** Settles after the first connection attempt of every server. Never rejects. */
  async tried(): Promise<void> {
    await Promise.all(this.servers.map((server) => server.tried));
  }

  get connected(): number {
    return this.servers.filter((server) => server.isConnected).length;
  }

  /** State of each server, in the order of the configuration. */
  states(): readonly McpServerState[] {
    const tools = this.tools();
    return this.servers.map((server) => {
      const { config, isConnected, problem, needsToken, faults, log } = server;
      const { id, label, source } = config;
      return {
        id,
        label,
        ...hostOf(source),
        isConnected,
        problem,
        needsToken,
        tools: tools.filter((tool) => tool.server === id),
        faults: [...faults, ...(this.unnamed.get(server) ?? [])],
        log,
      };
    });
  }

  /** Tools of the connected servers, in the order of the configuration. */
  tools(): readonly McpTool[] {
    if (!this.config.registersTools) return [];
    const lists = this.servers.map(({ tools }) => tools);
    if (lists.some((list, index) => list !== this.namedFrom[index])) {
      this.namedFrom = lists;
      this.named = this.nameAll();
    }
    return this.named;
  }

  /** Instructions and resources of the connected servers, in the order of the configuration. */
  assets(): readonly McpAssets[] {
    if (!this.config.registersTools) return [];
    return this.servers
      .filter(({ isConnected }) => isConnected)
      .map((server) => ({
        server: server.config.id,
        label: server.config.prefix ?? server.config.label,
        ...hostOf(server.config.source),
        ...defined({ instructions: server.instructions }),
        ...(server.hasResources ? { resources: this.resourcesOf(server) } : {}),
        ...(server.hasPrompts ? { prompts: this.promptsOf(server) } : {}),
      }));
  }

  /** Closes all connections and ends all processes. */
  async close(): Promise<void> {
    await Promise.all(this.servers.map((server) => server.close()));
    this.orphans.close();
  }

  private nameAll(): readonly McpTool[] {
    const named = new Map<string, McpTool>();
    for (const server of this.servers) {
      const { prefix } = server.config;
      const { names, faults } = toolNames(prefix, server.tools, named);
      for (const [tool, name] of names) named.set(name, this.callable(server, tool, name));
      for (const fault of faults) this.log(`MCP server ${server.config.label}: ${fault}`);
      this.unnamed.set(server, faults);
    }
    return [...named.values()];
  }

  private resourcesOf(server: McpServer): McpResources {
    const timeoutMs = server.config.toolTimeoutMs ?? this.config.toolTimeoutMs;
    return {
      entries: (signal) => this.counted(signal, () => server.listResources(signal)),
      list: (signal) =>
        this.gated(signal, async () => {
          const lines = (await server.listResources(signal)).map(({ uri, name, description = "" }) =>
            `${uri} ${name} ${description.split("\n", 1)[0]}`.trim(),
          );
          return { isError: false, parts: [{ type: "text", text: lines.join("\n") }] };
        }),
      read: (uri, signal) => this.gated(signal, () => server.readResource(uri, { timeoutMs, signal })),
    };
  }

  private promptsOf(server: McpServer): McpPrompts {
    const timeoutMs = server.config.toolTimeoutMs ?? this.config.toolTimeoutMs;
    return {
      list: (signal) => this.counted(signal, () => server.listPrompts(signal)),
      fill: (name, args, signal) =>
        this.counted(signal, () => server.fillPrompt(name, args, { timeoutMs, signal })),
    };
  }

  /** Does something within the limit on concurrent calls. A failure of the connection is an error result. */
  private async gated(signal: AbortSignal, work: () => Promise<McpResult>): Promise<McpResult> {
    try {
      return await this.counted(signal, work);
    } catch (error) {
      if (!(error instanceof McpFailure)) throw error;
      return { isError: true, parts: [{ type: "text", text: error.message }] };
    }
  }

  private async counted<T>(signal: AbortSignal, work: () => Promise<T>): Promise<T> {
    const leave = await this.gate.enter(signal);
    try {
      return await work();
    } finally {
      leave();
    }
  }

  private callable(server: McpServer, tool: ListedTool, name: string): McpTool {
    return {
      server: server.config.id,
      ...hostOf(server.config.source),
      name,
      description: tool.description ?? "",
      ...parametersOf(tool.inputSchema),
      ...defined({ isDeferred: server.config.isDeferred }),
      call: (args, signal, onProgress) => {
        const timeoutMs = server.config.toolTimeoutMs ?? this.config.toolTimeoutMs;
        const options = { timeoutMs, signal, ...defined({ onProgress }) };
        return this.gated(signal, () => server.call(tool.name, args, options));
      },
    };
  }
}

function hostOf(source: McpSource): { readonly host?: string } {
  return source.type === "Process" ? {} : { host: new URL(source.url).host };
}
