// One connection to one MCP server: transport, handshake, tools, calls. The SDK is imported only behind this file, which is
// loaded with the first server because the SDK takes 100 ms to load. Knows no retries.

import {
  Client,
  ProtocolError,
  SdkError,
  SdkErrorCode,
  SdkHttpError,
  SSEClientTransport,
  StreamableHTTPClientTransport,
  type Transport,
  UnauthorizedError,
} from "@modelcontextprotocol/client";
import { MCP_CONNECT_MS } from "./limits.ts";
import { MCP_PAGES_MAX, MCP_TIMEOUT_SECS } from "../core/limits.ts";
import { defined } from "../core/defined.ts";
import type { McpServerConfig } from "../core/mcp-config.ts";
import { VERSION } from "../core/version.ts";
import { boundedFetch, type Fetch } from "./bounded-fetch.ts";
import { McpFailure } from "./failure.ts";
import { resultOf } from "./result.ts";
import type { SignIns } from "./sign-in.ts";
import { type StdioDeps, StdioTransport } from "./stdio.ts";
import type { McpResult } from "./types.ts";
import { WebSocketTransport } from "./websocket.ts";

/** A tool as listed by its server. */
export interface ListedTool {
  readonly name: string;
  readonly description?: string | undefined;
  readonly inputSchema: Readonly<Record<string, unknown>>;
}

export interface ConnectDeps extends StdioDeps {
  /** Called on `notifications/tools/list_changed`. */
  readonly onToolsChanged: () => void;
  /** Requests of the Http transport. Default: the global fetch. */
  readonly fetch?: Fetch;
  /** Sign-ins at servers without a configured token; absent: none are used. */
  readonly signIns?: SignIns;
  /** Aborts connecting. */
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
  /** Resolves with the reason, for the log, when the connection ends. */
  readonly closed: Promise<string>;
  close(): Promise<void>;
}

/** The server no longer has the MCP session and has not executed the call. */
export class SessionLost extends Error {
  override readonly name = "SessionLost";
}

/** Connects. Throws McpFailure with a message for the log that contains no URL and no header. */
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
      const authProvider = maySignIn(server, deps) ? deps.signIns?.of(source.url) : undefined;
      const options = {
        requestInit: { headers },
        fetch: boundedFetch(deps.fetch ?? fetch),
        ...defined({ authProvider }),
      };
      try {
        return await open(new StreamableHTTPClientTransport(url, options), server, deps);
      } catch (error) {
        if (!(error instanceof McpFailure) || !isOfOldServer(error.cause)) throw error;
        // oxlint-disable-next-line typescript/no-deprecated -- servers older than 2025-03-26 support only SSE
        return await open(new SSEClientTransport(url, options), server, deps);
      }
    }
  }
}

/** A configured token takes the place of a sign-in. */
function maySignIn({ source, bearerToken }: McpServerConfig, { signIns }: ConnectDeps): boolean {
  return source.type === "Http" && bearerToken === undefined && signIns !== undefined;
}

function headersOf({ source, bearerToken }: McpServerConfig): Record<string, string> {
  if (source.type === "Process") return {};
  return {
    ...source.headers,
    ...(bearerToken === undefined ? {} : { authorization: `Bearer ${bearerToken}` }),
  };
}

/** Statuses of a server without POST at this URL. MCP 2025-11-25, Backwards Compatibility. */
function isOfOldServer(cause: unknown): boolean {
  return cause instanceof SdkHttpError && [400, 404, 405].includes(cause.status);
}

/** Disables the SDK's output-schema validation: it rejects results that a model can read anyway. */
const UNCHECKED = {
  // `never` is assignable to the type that the SDK expects of unchecked input.
  getValidator: () => (input: unknown) =>
    ({ valid: true, data: input as never, errorMessage: undefined }) as const,
};

async function open(transport: Transport, server: McpServerConfig, deps: ConnectDeps): Promise<Connection> {
  const client = new Client(
    { name: "svc", version: VERSION },
    { capabilities: {}, jsonSchemaValidator: UNCHECKED, listMaxPages: MCP_PAGES_MAX },
  );
  const closed = Promise.withResolvers<string>();
  client.onclose = () => closed.resolve(exitReasonOf(transport) ?? "the connection was closed");
  client.setNotificationHandler("notifications/tools/list_changed", deps.onToolsChanged);
  const deadline = AbortSignal.timeout(MCP_CONNECT_MS);
  const signal = AbortSignal.any([deadline, deps.signal]);
  try {
    // The SDK's own timeouts start only when the transport is open.
    await Promise.race([client.connect(transport, { timeout: MCP_CONNECT_MS, signal }), rejection(signal)]);
  } catch (cause) {
    const why = deadline.aborted
      ? timeoutText(MCP_CONNECT_MS)
      : (exitReasonOf(transport) ?? reasonOf(cause, MCP_CONNECT_MS));
    await transport.close().catch(() => {}); // it may not be open
    const needsToken = isUnauthorized(cause);
    const hint = needsToken && maySignIn(server, deps) ? `, or: svc mcp login ${server.label}` : "";
    throw new McpFailure(why + hint, { cause, needsToken });
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
  /** HTTP does not report a lost server, so any error triggers a ping. */
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
        const ended = transport.terminateSession().catch(() => {}); // best effort
        await Promise.race([ended, Bun.sleep(TERMINATE_SESSION_MS)]);
      }
      await client.close();
    },
  };
}

/** Timeout of the request that terminates a session, milliseconds. */
const TERMINATE_SESSION_MS = 500;

function rejection(signal: AbortSignal): Promise<never> {
  const aborted = Promise.withResolvers<never>();
  if (signal.aborted) aborted.reject(signal.reason);
  signal.addEventListener("abort", () => aborted.reject(signal.reason), { once: true });
  return aborted.promise;
}

function exitReasonOf(transport: Transport): string | undefined {
  return transport instanceof StdioTransport ? transport.exitReason : undefined;
}

function isUnauthorized(cause: unknown): boolean {
  return cause instanceof UnauthorizedError || (cause instanceof SdkHttpError && cause.status === 401);
}

/** Reason of a failure, without URL, header or token. */
function reasonOf(error: unknown, timeoutMs: number): string {
  if (error instanceof McpFailure) return error.message;
  if (isUnauthorized(error)) return "it needs a valid token (HTTP status 401)";
  if (error instanceof SdkHttpError) return `it responded with HTTP status ${error.status}`;
  if (error instanceof ProtocolError) return error.message; // the server's message
  if (error instanceof SdkError) {
    if (error.code === SdkErrorCode.RequestTimeout) return timeoutText(timeoutMs);
    if (error.code === SdkErrorCode.ConnectionClosed) return "the connection was lost";
    if (error.code === SdkErrorCode.InvalidResult) return "its response violates the MCP protocol";
  }
  const code = error instanceof Error && "code" in error ? String(error.code) : "";
  if (code === "ENOENT") return "its command was not found; check the path in the MCP configuration";
  return code === "" ? "it could not be reached" : `it could not be reached (${code})`;
}

function timeoutText(ms: number): string {
  return `it timed out after ${ms / 1000} seconds`;
}
