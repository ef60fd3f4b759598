// Opens one connection to one server: transport, handshake, tools, calls. Everything that needs the SDK's code is behind
// this file, which is loaded with the first server: the SDK takes a tenth of a second to load. Knows no retries.

import {
  Client,
  ProtocolError,
  SdkError,
  SdkErrorCode,
  SdkHttpError,
  SSEClientTransport,
  StreamableHTTPClientTransport,
  type Transport,
} from "@modelcontextprotocol/client";
import { MCP_CONNECT_MS } from "./limits.ts";
import { MCP_PAGES_MAX, MCP_TIMEOUT_SECS } from "../core/limits.ts";
import type { McpServerConfig } from "../core/mcp-config.ts";
import { VERSION } from "../core/version.ts";
import { boundedFetch } from "./bounded-fetch.ts";
import { McpFailure } from "./failure.ts";
import { resultOf } from "./result.ts";
import { type StdioDeps, StdioTransport } from "./stdio.ts";
import type { McpResult } from "./types.ts";
import { WebSocketTransport } from "./websocket.ts";

/** A tool as its server describes it. */
export interface ListedTool {
  readonly name: string;
  readonly description?: string | undefined;
  readonly inputSchema: Readonly<Record<string, unknown>>;
}

export interface ConnectDeps extends StdioDeps {
  /** The server says that its tools have changed. */
  readonly onToolsChanged: () => void;
  /** Gives up connecting. */
  readonly signal: AbortSignal;
}

export interface CallOptions {
  readonly timeoutMs: number;
  readonly signal: AbortSignal;
}

/** An open connection. */
export interface Connection {
  /** All pages. Throws McpFailure. */
  listTools(): Promise<readonly ListedTool[]>;
  /** Throws SessionLost, or McpFailure with a message for the model. */
  call(name: string, args: Readonly<Record<string, unknown>>, options: CallOptions): Promise<McpResult>;
  /** Settles when the connection is over: why, for the log. */
  readonly closed: Promise<string>;
  close(): Promise<void>;
}

/** The server has forgotten us and has not made the call. */
export class SessionLost extends Error {
  override readonly name = "SessionLost";
}

/** Connects. Throws McpFailure; its message is for the log and names neither address nor header. */
export async function connect(server: McpServerConfig, deps: ConnectDeps): Promise<Connection> {
  const { source } = server;
  const headers = headersOf(server);
  switch (source.type) {
    case "Process":
      return open(new StdioTransport(source, deps), server, deps);
    case "WebSocket":
      return open(new WebSocketTransport(source.url, headers), server, deps);
    case "Http": {
      const url = new URL(source.url);
      const options = { requestInit: { headers }, fetch: boundedFetch };
      try {
        return await open(new StreamableHTTPClientTransport(url, options), server, deps);
      } catch (error) {
        if (!(error instanceof McpFailure) || !isOfOldServer(error.cause)) throw error;
        // oxlint-disable-next-line typescript/no-deprecated -- servers of before 2025-03-26 speak nothing else
        return await open(new SSEClientTransport(url, options), server, deps);
      }
    }
  }
}

function headersOf({ source, bearerToken }: McpServerConfig): Record<string, string> {
  if (source.type === "Process") return {};
  return {
    ...source.headers,
    ...(bearerToken === undefined ? {} : { authorization: `Bearer ${bearerToken}` }),
  };
}

/** What a server answers that knows no POST at this address. MCP 2025-11-25, Backwards Compatibility. */
function isOfOldServer(cause: unknown): boolean {
  return cause instanceof SdkHttpError && [400, 404, 405].includes(cause.status);
}

/** The SDK compiles every tool's output schema, only to refuse results that a model can read all the same. */
const UNCHECKED = {
  // `never` fits whatever type the SDK expects of what it has not looked at.
  getValidator: () => (input: unknown) =>
    ({ valid: true, data: input as never, errorMessage: undefined }) as const,
};

async function open(transport: Transport, server: McpServerConfig, deps: ConnectDeps): Promise<Connection> {
  const client = new Client(
    { name: "svc", version: VERSION },
    { capabilities: {}, jsonSchemaValidator: UNCHECKED, listMaxPages: MCP_PAGES_MAX },
  );
  const closed = Promise.withResolvers<string>();
  client.onclose = () => closed.resolve(epitaphOf(transport) ?? "the connection was closed");
  client.setNotificationHandler("notifications/tools/list_changed", deps.onToolsChanged);
  const late = AbortSignal.timeout(MCP_CONNECT_MS);
  const signal = AbortSignal.any([late, deps.signal]);
  try {
    // The SDK's own limits begin once the transport is open.
    await Promise.race([client.connect(transport, { timeout: MCP_CONNECT_MS, signal }), rejection(signal)]);
  } catch (cause) {
    const why = late.aborted
      ? seconds(MCP_CONNECT_MS)
      : (epitaphOf(transport) ?? reasonOf(cause, MCP_CONNECT_MS));
    await transport.close().catch(() => {}); // there may be nothing to close
    throw new McpFailure(why, { cause });
  }
  return connectionOf(client, transport, server, closed.promise);
}

function connectionOf(
  client: Client,
  transport: Transport,
  { source }: McpServerConfig,
  closed: Promise<string>,
): Connection {
  const ownMs = source.type === "Process" ? undefined : (source.timeout_secs ?? MCP_TIMEOUT_SECS) * 1000;
  client.onerror = () => void probe();
  let probing = false;
  /** Over HTTP nothing tells that a server has gone, so whatever goes wrong is a reason to look. */
  async function probe(): Promise<void> {
    if (probing || source.type !== "Http") return;
    probing = true;
    try {
      await client.ping({ timeout: MCP_CONNECT_MS });
    } catch {
      await client.close();
    } finally {
      probing = false;
    }
  }
  return {
    closed,
    async listTools() {
      const timeout = ownMs ?? MCP_CONNECT_MS;
      try {
        return (await client.listTools(undefined, { timeout })).tools;
      } catch (cause) {
        throw new McpFailure(reasonOf(cause, timeout), { cause });
      }
    },
    async call(name, args, { timeoutMs, signal }) {
      const timeout = Math.min(timeoutMs, ownMs ?? timeoutMs);
      try {
        return resultOf(await client.callTool({ name, arguments: { ...args } }, { timeout, signal }));
      } catch (cause) {
        signal.throwIfAborted();
        if (cause instanceof SdkHttpError && cause.status === 404) throw new SessionLost("", { cause });
        throw new McpFailure(reasonOf(cause, timeout), { cause });
      }
    },
    async close() {
      if (transport instanceof StreamableHTTPClientTransport && transport.sessionId !== undefined) {
        const ended = transport.terminateSession().catch(() => {}); // a courtesy
        await Promise.race([ended, Bun.sleep(FAREWELL_MS)]);
      }
      await client.close();
    },
  };
}

/** How long a server may take to note that its session is over, milliseconds. */
const FAREWELL_MS = 500;

function rejection(signal: AbortSignal): Promise<never> {
  const aborted = Promise.withResolvers<never>();
  if (signal.aborted) aborted.reject(signal.reason);
  signal.addEventListener("abort", () => aborted.reject(signal.reason), { once: true });
  return aborted.promise;
}

function epitaphOf(transport: Transport): string | undefined {
  return transport instanceof StdioTransport ? transport.epitaph : undefined;
}

/** Why something failed, in words that name no address, header or token. */
function reasonOf(error: unknown, timeoutMs: number): string {
  if (error instanceof SdkHttpError) return `it answered with HTTP status ${error.status}`;
  if (error instanceof ProtocolError) return error.message; // the server's own words
  if (error instanceof SdkError) {
    if (error.code === SdkErrorCode.RequestTimeout) return seconds(timeoutMs);
    if (error.code === SdkErrorCode.ConnectionClosed) return "the connection was lost";
    if (error.code === SdkErrorCode.InvalidResult) return "its answer does not follow the protocol";
  }
  const code = error instanceof Error && "code" in error ? String(error.code) : "";
  if (code === "ENOENT") return "its program was not found";
  return code === "" ? "it cannot be reached" : `it cannot be reached (${code})`;
}

function seconds(ms: number): string {
  return `it timed out after ${ms / 1000} seconds`;
}
