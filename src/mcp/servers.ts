// All configured MCP servers: their tools under unique names, the limit on concurrent calls, and the clean-up of their
// processes.

import { TOOL_NAME_CHARS_MAX } from "../core/limits.ts";
import { defined } from "../core/defined.ts";
import type { McpConfig, McpSource } from "../core/mcp-config.ts";
import type { ConnectDeps, ListedTool } from "./connect.ts";
import { McpFailure } from "./failure.ts";
import { Semaphore } from "../core/semaphore.ts";
import { OrphanGuard } from "./orphans.ts";
import { parametersOf } from "./parameters.ts";
import { McpServer } from "./server.ts";
import type { McpTool } from "./types.ts";

export interface McpServersDeps extends Pick<ConnectDeps, "fetch" | "signIns"> {
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
}

/** Variables that server processes inherit: needed by programs and never secret. */
const INHERITED = ["HOME", "LANG", "LC_ALL", "LOGNAME", "PATH", "SHELL", "TERM", "TMPDIR", "TZ", "USER"];

/** Prefix of svc's built-in tools. */
const OWN_PREFIX = "svc_";

export class McpServers {
  private readonly config: McpConfig;
  private readonly log: (line: string) => void;
  private readonly servers: readonly McpServer[];
  private readonly orphans: OrphanGuard;
  private readonly gate: Semaphore;
  private named: readonly McpTool[] = [];
  private namedFrom: readonly (readonly ListedTool[])[] = []; // the lists from which `named` was computed

  /** Starts to connect. */
  constructor(config: McpConfig, { environment, log, fetch, signIns }: McpServersDeps) {
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
      ...defined({ fetch, signIns }),
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
    return this.servers.map(({ config: { id, label, source }, isConnected, problem, needsToken }) => ({
      id,
      label,
      ...hostOf(source),
      isConnected,
      problem,
      needsToken,
      tools: tools.filter(({ server }) => server === id),
    }));
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

  /** Closes all connections and ends all processes. */
  async close(): Promise<void> {
    await Promise.all(this.servers.map((server) => server.close()));
    this.orphans.close();
  }

  private nameAll(): readonly McpTool[] {
    const named = new Map<string, McpTool>();
    for (const server of this.servers) {
      for (const tool of server.tools) {
        const name = toolName(server.config.prefix, tool.name);
        const fault = named.has(name)
          ? "another server has a tool of this name; set tool_prefix"
          : faultOf(name);
        if (fault === undefined) named.set(name, this.callable(server, tool, name));
        else this.log(`MCP server ${server.config.label}: tool ${name.slice(0, 100)} is ignored: ${fault}`);
      }
    }
    return [...named.values()];
  }

  private callable(server: McpServer, tool: ListedTool, name: string): McpTool {
    return {
      server: server.config.id,
      ...hostOf(server.config.source),
      name,
      description: tool.description ?? "",
      ...parametersOf(tool.inputSchema),
      call: async (args, signal) => {
        const leave = await this.gate.enter(signal);
        try {
          return await server.call(tool.name, args, { timeoutMs: this.config.toolTimeoutMs, signal });
        } catch (error) {
          if (!(error instanceof McpFailure)) throw error;
          return { isError: true, parts: [{ type: "text", text: error.message }] };
        } finally {
          leave();
        }
      },
    };
  }
}

function hostOf(source: McpSource): { readonly host?: string } {
  return source.type === "Process" ? {} : { host: new URL(source.url).host };
}

/** Tool name for models: letters, digits and _ . - only, because chat templates write names without quotes. */
function toolName(prefix: string | undefined, name: string): string {
  const whole = prefix === undefined ? name : `${prefix}_${name}`;
  return whole.replaceAll(/[^A-Za-z0-9_.-]/g, "_");
}

function faultOf(name: string): string | undefined {
  if (name.length > TOOL_NAME_CHARS_MAX) return `its name is longer than ${TOOL_NAME_CHARS_MAX} characters`;
  if (name.startsWith(OWN_PREFIX))
    return `the prefix ${OWN_PREFIX} is reserved for built-in tools; set tool_prefix`;
  return name === "" ? "it has no name" : undefined;
}
