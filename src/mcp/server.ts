// One configured MCP server: reconnects until closed and keeps its tool list current.

import {
  MCP_FAULTS_MAX,
  MCP_LOG_LINE_CHARS_MAX,
  MCP_LOG_LINES_MAX,
  MCP_RECONNECT_MS,
  MCP_RECONNECT_MS_MAX,
} from "./limits.ts";
import { MCP_TOOLS_MAX } from "../core/limits.ts";
import { pause } from "../core/with-abort.ts";
import type { McpServerConfig } from "../core/mcp-config.ts";
import type { ConnectDeps, Era } from "./connect.ts";
import type {
  CallOptions,
  Connection,
  FilledPrompt,
  ListedPrompt,
  ListedResource,
  ListedTool,
} from "./connection.ts";
import { McpFailure, SessionLost } from "./failure.ts";
import type { StdioDeps } from "./stdio.ts";
import type { McpResult } from "./types.ts";

export interface McpServerDeps extends StdioDeps, Pick<ConnectDeps, "fetch" | "fetchFor" | "signIns"> {
  readonly log: (line: string) => void;
}

/** A connection of at least this length resets the reconnect pause. */
const HEALTHY_MS = 60_000;

export class McpServer {
  readonly config: McpServerConfig;
  /** As last listed by the server; empty while disconnected. Replaced, never mutated. */
  tools: readonly ListedTool[] = [];
  /** Why it is not connected; undefined while it is, and before the first attempt has ended. */
  problem: string | undefined;
  /** Whether it is not connected for lack of a valid token. */
  needsToken = false;
  private readonly deps: McpServerDeps;
  private readonly closing = new AbortController();
  private readonly lifetime: Promise<void>;
  private readonly firstAttempt: Promise<void>;
  private connection: Connection | undefined;
  private waiting: (() => void)[] = []; // for the end of the next connection attempt
  private isStale = false; // the tools changed since they were last listed
  private isRefreshing = false;
  private lastLine = "";
  private era: Era = "unknown";
  private listFaults: readonly string[] = [];
  private readonly lines: string[] = [];
  private unfinishedLine = "";

  constructor(config: McpServerConfig, deps: McpServerDeps) {
    this.config = config;
    this.deps = deps;
    this.firstAttempt = this.attempt();
    this.lifetime = this.keepConnected();
  }

  /** Settles after the first connection attempt. Never rejects. */
  get tried(): Promise<void> {
    return this.firstAttempt;
  }

  /** What it says of its use, while it is connected. */
  get instructions(): string | undefined {
    return this.connection?.instructions;
  }

  get hasResources(): boolean {
    return this.connection?.hasResources === true;
  }

  /** Throws McpFailure. */
  listResources(signal: AbortSignal): Promise<readonly ListedResource[]> {
    return this.opened().listResources(signal);
  }

  /** Throws McpFailure. */
  readResource(uri: string, options: CallOptions): Promise<McpResult> {
    return this.opened().readResource(uri, options);
  }

  get hasPrompts(): boolean {
    return this.connection?.hasPrompts === true;
  }

  /** Throws McpFailure. */
  listPrompts(signal: AbortSignal): Promise<readonly ListedPrompt[]> {
    return this.opened().listPrompts(signal);
  }

  /** Throws McpFailure. */
  fillPrompt(
    name: string,
    args: Readonly<Record<string, string>>,
    options: CallOptions,
  ): Promise<FilledPrompt> {
    return this.opened().fillPrompt(name, args, options);
  }

  get isConnected(): boolean {
    return this.connection !== undefined;
  }

  /** What is wrong with the lists that it sent last: entries that are repaired or skipped. */
  get faults(): readonly string[] {
    return this.listFaults;
  }

  /** What svc logged of it, and what its process wrote to stderr, oldest first. */
  get log(): readonly string[] {
    return this.unfinishedLine === "" ? [...this.lines] : [...this.lines, this.unfinishedLine];
  }

  /** As McpTool.call, but throws McpFailure. Retries once if the server lost the session before it executed the call. */
  async call(
    name: string,
    args: Readonly<Record<string, unknown>>,
    options: CallOptions,
  ): Promise<McpResult> {
    for (let attempt = 1; ; attempt++) {
      const connection = this.opened();
      try {
        return await connection.call(name, args, options);
      } catch (error) {
        if (!(error instanceof SessionLost)) throw error;
        if (attempt > 1)
          throw new McpFailure(`the MCP server lost its session twice: ${error.message}`, { cause: error });
        await this.renew(connection);
      }
    }
  }

  private opened(): Connection {
    if (this.connection !== undefined) return this.connection;
    throw new McpFailure("the MCP server of this tool is not connected; try again later");
  }

  async close(): Promise<void> {
    this.closing.abort();
    await this.lifetime;
  }

  private async keepConnected(): Promise<void> {
    const { signal } = this.closing;
    let pauseMs = MCP_RECONNECT_MS;
    while (!signal.aborted) {
      const openedAt = performance.now();
      const why = await this.once(signal);
      if (signal.aborted) break;
      if (performance.now() - openedAt > HEALTHY_MS) pauseMs = MCP_RECONNECT_MS;
      this.logOnce(`${why}; reconnecting`);
      if (this.waiting.length === 0) await pause(pauseMs, signal); // a waiting call skips the pause
      pauseMs = Math.min(pauseMs * 2, MCP_RECONNECT_MS_MAX);
    }
    this.attemptEnded();
  }

  /** Connects and waits until the connection ends. Returns the reason. */
  private async once(signal: AbortSignal): Promise<string> {
    let connection: Connection | undefined;
    const disconnect = (): void => void connection?.close();
    signal.addEventListener("abort", disconnect);
    try {
      const { connect } = await import("./connect.ts");
      const onToolsChanged = (): void => void this.refresh();
      const onFaults = (faults: readonly string[]): void => this.note(faults);
      const onStderr = (text: string): void => this.hear(text);
      const { era } = this;
      connection = await connect(this.config, {
        ...this.deps,
        onToolsChanged,
        onFaults,
        onStderr,
        era,
        signal,
      });
      this.era = connection.isOld ? "old" : "unknown";
      if (signal.aborted) disconnect(); // the abort event was before the connection
      this.isStale = false;
      this.tools = await this.list(connection);
      this.connection = connection;
      this.problem = undefined;
      this.needsToken = false;
      this.logOnce(`connected, ${this.tools.length} tools`);
      this.attemptEnded();
      if (this.isStale) void this.refresh();
      this.problem = await connection.closed;
      return this.problem;
    } catch (error) {
      void connection?.close();
      this.era = "patient";
      this.problem = error instanceof McpFailure ? error.message : `internal error: ${String(error)}`;
      this.needsToken = error instanceof McpFailure && error.needsToken;
      this.attemptEnded();
      return this.problem;
    } finally {
      signal.removeEventListener("abort", disconnect);
      this.connection = undefined;
      this.tools = [];
    }
  }

  /** Settles at the end of the next connection attempt. */
  private attempt(): Promise<void> {
    const ended = Promise.withResolvers<void>();
    this.waiting.push(ended.resolve);
    return ended.promise;
  }

  private attemptEnded(): void {
    const { waiting } = this;
    this.waiting = [];
    for (const resolve of waiting) resolve();
  }

  /** Replaces a connection whose session was lost, unless another call already does. */
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
        const tools = await this.list(connection);
        if (this.connection === connection) this.tools = tools;
      }
    } catch (error) {
      this.logOnce(`its changed tools could not be listed: ${error instanceof Error ? error.message : "?"}`);
    } finally {
      this.isRefreshing = false;
    }
  }

  /** Its tools, without duplicate names (the first wins), up to the limit. */
  private async list(connection: Connection): Promise<readonly ListedTool[]> {
    this.listFaults = [];
    const listed = await connection.listTools();
    const named = new Map<string, ListedTool>();
    const twins = new Set<string>();
    for (const tool of listed) {
      if (named.has(tool.name)) twins.add(tool.name);
      else named.set(tool.name, tool);
    }
    const tools = [...named.values()];
    const more = tools.length > MCP_TOOLS_MAX;
    this.note([
      ...[...twins].map((name) => `tool ${JSON.stringify(name)} is listed several times; the first is used`),
      ...(more ? [`it has ${tools.length} tools; only the first ${MCP_TOOLS_MAX} are used`] : []),
    ]);
    return tools.slice(0, MCP_TOOLS_MAX);
  }

  /** Adds faults of a list to the card, and logs those that are new. */
  private note(faults: readonly string[]): void {
    for (const fault of faults) if (!this.listFaults.includes(fault)) this.logOnce(fault);
    this.listFaults = [...new Set([...this.listFaults, ...faults])].slice(0, MCP_FAULTS_MAX);
  }

  private hear(text: string): void {
    const [...whole] = (this.unfinishedLine + text).split("\n");
    this.unfinishedLine = (whole.pop() ?? "").slice(-MCP_LOG_LINE_CHARS_MAX);
    this.keep(whole.map((line) => line.slice(0, MCP_LOG_LINE_CHARS_MAX)));
  }

  private keep(lines: readonly string[]): void {
    this.lines.push(...lines);
    this.lines.splice(0, this.lines.length - MCP_LOG_LINES_MAX);
  }

  /** Logs a line unless it repeats the previous one. */
  private logOnce(line: string): void {
    if (line === this.lastLine) return;
    this.lastLine = line;
    this.keep([`svc: ${line}`]);
    this.deps.log(`MCP server ${this.config.label}: ${line}`);
  }
}
