// One configured server: connected to again and again until it is closed, and the list of its tools kept current.

import { MCP_RECONNECT_MS, MCP_RECONNECT_MS_MAX } from "./limits.ts";
import { MCP_TOOLS_MAX } from "../core/limits.ts";
import type { McpServerConfig } from "../core/mcp-config.ts";
import type { CallOptions, Connection, ListedTool } from "./connect.ts";
import { McpFailure } from "./failure.ts";
import type { StdioDeps } from "./stdio.ts";
import type { McpResult } from "./types.ts";

export interface McpServerDeps extends StdioDeps {
  readonly log: (line: string) => void;
}

/** A connection that lived this long was a good one: the next attempt comes soon again. */
const HEALTHY_MS = 60_000;

export class McpServer {
  readonly config: McpServerConfig;
  /** As the server last listed them; empty while it is not connected. A change is another array. */
  tools: readonly ListedTool[] = [];
  private readonly deps: McpServerDeps;
  private readonly closing = new AbortController();
  private readonly life: Promise<void>;
  private readonly firstTry: Promise<void>;
  private connection: Connection | undefined;
  private waiting: (() => void)[] = []; // for the next attempt to connect to come to an end
  private isStale = false; // the tools have changed since they were last asked for
  private isRefreshing = false;
  private lastWord = "";

  constructor(config: McpServerConfig, deps: McpServerDeps) {
    this.config = config;
    this.deps = deps;
    this.firstTry = this.attempt();
    this.life = this.live();
  }

  /** Settles when the server is connected, or for the first time could not be. Never rejects. */
  get tried(): Promise<void> {
    return this.firstTry;
  }

  get isConnected(): boolean {
    return this.connection !== undefined;
  }

  /** See McpTool.call, but throws McpFailure. A call that the server has not taken because it forgot us is made once more. */
  async call(
    name: string,
    args: Readonly<Record<string, unknown>>,
    options: CallOptions,
  ): Promise<McpResult> {
    const { SessionLost } = await import("./connect.ts");
    for (let attempt = 1; ; attempt++) {
      const { connection } = this;
      if (connection === undefined) throw new McpFailure("the MCP server of this tool is not connected");
      try {
        return await connection.call(name, args, options);
      } catch (error) {
        if (!(error instanceof SessionLost)) throw error;
        if (attempt > 1) throw new McpFailure("the MCP server forgets its sessions", { cause: error });
        await this.renew(connection);
      }
    }
  }

  async close(): Promise<void> {
    this.closing.abort();
    await this.life;
  }

  private async live(): Promise<void> {
    const { signal } = this.closing;
    let pauseMs = MCP_RECONNECT_MS;
    while (!signal.aborted) {
      const openedAt = performance.now();
      const why = await this.once(signal);
      if (signal.aborted) break;
      if (performance.now() - openedAt > HEALTHY_MS) pauseMs = MCP_RECONNECT_MS;
      this.say(`${why}; it will be tried again`);
      if (this.waiting.length === 0) await pause(pauseMs, signal); // otherwise somebody is in a hurry
      pauseMs = Math.min(pauseMs * 2, MCP_RECONNECT_MS_MAX);
    }
    this.attempted();
  }

  /** Connects and stays so; why that is over. */
  private async once(signal: AbortSignal): Promise<string> {
    let connection: Connection | undefined;
    const hangUp = (): void => void connection?.close();
    signal.addEventListener("abort", hangUp);
    try {
      const { connect } = await import("./connect.ts");
      const onToolsChanged = (): void => void this.refresh();
      connection = await connect(this.config, { ...this.deps, onToolsChanged, signal });
      if (signal.aborted) hangUp(); // it came too late to be heard
      this.isStale = false;
      this.tools = this.usable(await connection.listTools());
      this.connection = connection;
      this.say(`connected, ${this.tools.length} tools`);
      this.attempted();
      if (this.isStale) void this.refresh();
      return await connection.closed;
    } catch (error) {
      void connection?.close();
      this.attempted();
      if (error instanceof McpFailure) return error.message;
      return `it failed inside this server: ${String(error)}`;
    } finally {
      signal.removeEventListener("abort", hangUp);
      this.connection = undefined;
      this.tools = [];
    }
  }

  /** Settles at the end of the next attempt to connect. */
  private attempt(): Promise<void> {
    const ended = Promise.withResolvers<void>();
    this.waiting.push(ended.resolve);
    return ended.promise;
  }

  private attempted(): void {
    const { waiting } = this;
    this.waiting = [];
    for (const resolve of waiting) resolve();
  }

  /** Replaces a connection whose session the server does not know. Others may have begun to. */
  private async renew(old: Connection): Promise<void> {
    if (this.isConnected && this.connection !== old) return;
    const ended = this.attempt();
    if (this.connection === old) void old.close();
    await ended;
  }

  private async refresh(): Promise<void> {
    this.isStale = true;
    const { connection } = this;
    if (this.isRefreshing || connection === undefined) return;
    this.isRefreshing = true;
    try {
      while (this.isStale && this.connection === connection) {
        this.isStale = false;
        const tools = this.usable(await connection.listTools());
        if (this.connection === connection) this.tools = tools;
      }
    } catch (error) {
      this.say(
        `its tools have changed and cannot be listed: ${error instanceof Error ? error.message : "?"}`,
      );
    } finally {
      this.isRefreshing = false;
    }
  }

  /** Of two tools with one name the first counts. */
  private usable(listed: readonly ListedTool[]): readonly ListedTool[] {
    const tools = [...new Map(listed.toReversed().map((tool) => [tool.name, tool])).values()].toReversed();
    if (tools.length <= MCP_TOOLS_MAX) return tools;
    this.say(`it has ${tools.length} tools, of which the first ${MCP_TOOLS_MAX} are used`);
    return tools.slice(0, MCP_TOOLS_MAX);
  }

  /** One line to the log, unless it says the same as the one before. */
  private say(line: string): void {
    if (line === this.lastWord) return;
    this.lastWord = line;
    this.deps.log(`MCP server ${this.config.label}: ${line}`);
  }
}

async function pause(ms: number, signal: AbortSignal): Promise<void> {
  const over = Promise.withResolvers<void>();
  const timer = setTimeout(over.resolve, ms);
  signal.addEventListener("abort", () => over.resolve(), { once: true });
  await over.promise;
  clearTimeout(timer);
}
