// Opens a connection to one MCP server: transport, protocol version, handshake. The SDK is imported only behind this file, which
// is loaded with the first server because the SDK takes 100 ms to load. Knows no retries of calls.

import {
  Client,
  SdkError,
  SdkErrorCode,
  SdkHttpError,
  SSEClientTransport,
  StreamableHTTPClientTransport,
  type Transport,
} from "@modelcontextprotocol/client";
import { MCP_CONNECT_MS, MCP_PROBE_MS } from "./limits.ts";
import { MCP_PAGES_MAX } from "../core/limits.ts";
import { defined } from "../core/defined.ts";
import type { McpServerConfig } from "../core/mcp-config.ts";
import { VERSION } from "../core/version.ts";
import { unlessAborted } from "../core/with-abort.ts";
import { boundedFetch, type Fetch } from "./bounded-fetch.ts";
import { type Connection, connectionOf } from "./connection.ts";
import { McpFailure } from "./failure.ts";
import { isUnauthorized, reasonOf, timeoutText } from "./reasons.ts";
import { RepairingTransport } from "./repairing-transport.ts";
import type { SignIns } from "./sign-in.ts";
import { type StdioDeps, StdioTransport } from "./stdio.ts";
import { WebSocketTransport } from "./websocket.ts";

export interface ConnectDeps extends StdioDeps {
  /** Called on `notifications/tools/list_changed`. */
  readonly onToolsChanged: () => void;
  /** Called with the faults of a list that the server sent. */
  readonly onFaults: (faults: readonly string[]) => void;
  /** Requests of the Http transport. Default: the global fetch. */
  readonly fetch?: Fetch;
  /** Requests to a server at an address and to what its answers name, in place of `fetch`. */
  readonly fetchFor?: (serverUrl: string) => Fetch;
  /** Sign-ins at servers without a configured token; absent: none are used. */
  readonly signIns?: SignIns;
  /** Aborts connecting. */
  readonly signal: AbortSignal;
  /** Result of an earlier negotiation with the server. */
  readonly era?: Era;
}

/**
 * How the protocol version is found: `unknown` asks the server and takes one that does not answer soon for an old one, `patient`
 * waits as long as the server may take to start, `old` does not ask (versions before 2026-07-28).
 */
export type Era = "unknown" | "patient" | "old";

/** Connects. Throws McpFailure with a message for the log that contains no URL and no header. */
export async function connect(server: McpServerConfig, deps: ConnectDeps): Promise<Connection> {
  const { source } = server;
  const headers = headersOf(server);
  switch (source.type) {
    case "Process":
      return negotiated(() => new StdioTransport(source, deps), server, deps);
    case "WebSocket":
      return negotiated(() => new WebSocketTransport(source.url, headers), server, deps);
    case "Http": {
      const url = new URL(source.url);
      const authProvider = maySignIn(server, deps) ? deps.signIns?.of(source.url) : undefined;
      const options = {
        requestInit: { headers },
        fetch: boundedFetch(deps.fetchFor?.(source.url) ?? deps.fetch ?? fetch),
        ...defined({ authProvider }),
      };
      try {
        return await negotiated(() => new StreamableHTTPClientTransport(url, options), server, deps);
      } catch (error) {
        if (!(error instanceof McpFailure) || !isOfOldServer(error.cause)) throw error;
        // oxlint-disable-next-line typescript/no-deprecated -- servers older than 2025-03-26 support only SSE
        return await open(new SSEClientTransport(url, options), server, { ...deps, era: "old" });
      }
    }
  }
}

/**
 * Connects with the newest version that the server offers. A server that ends or fails at the question for its versions is
 * connected again without it: some old ones accept nothing before `initialize`.
 */
async function negotiated(
  fresh: () => Transport,
  server: McpServerConfig,
  deps: ConnectDeps,
): Promise<Connection> {
  if (deps.era === "old") return open(fresh(), server, deps);
  try {
    return await open(fresh(), server, deps);
  } catch (error) {
    deps.signal.throwIfAborted();
    if (!(error instanceof McpFailure) || !mayBeOld(error)) throw error;
    return await open(fresh(), server, { ...deps, era: "old" });
  }
}

/** Whether the failure can come from the question for the server's versions. */
function mayBeOld({ cause, needsToken, isFinal }: McpFailure): boolean {
  if (needsToken || isFinal || isOfOldServer(cause)) return false;
  const { EraNegotiationFailed, RequestTimeout, ConnectionClosed } = SdkErrorCode;
  return (
    cause instanceof SdkError && [EraNegotiationFailed, RequestTimeout, ConnectionClosed].includes(cause.code)
  );
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

/** Part of the time to connect that the question for the versions may take. */
const PROBE_SHARE = 4;

async function open(transport: Transport, server: McpServerConfig, deps: ConnectDeps): Promise<Connection> {
  const { era = "unknown" } = deps;
  const { startupMs = MCP_CONNECT_MS } = server;
  const probeMs = era === "patient" ? startupMs : Math.min(MCP_PROBE_MS, startupMs / PROBE_SHARE);
  const client = new Client(
    { name: "svc", version: VERSION },
    {
      capabilities: {},
      listMaxPages: MCP_PAGES_MAX,
      ...(era === "old" ? {} : { versionNegotiation: { mode: "auto", probe: { timeoutMs: probeMs } } }),
    },
  );
  const closed = Promise.withResolvers<string>();
  client.onclose = () => closed.resolve(exitReasonOf(transport) ?? "the connection was closed");
  client.setNotificationHandler("notifications/tools/list_changed", deps.onToolsChanged);
  const totalMs = era === "patient" ? 2 * startupMs : startupMs;
  const deadline = AbortSignal.timeout(totalMs);
  const signal = AbortSignal.any([deadline, deps.signal]);
  const repairing = new RepairingTransport(transport, server.source.type !== "Http", deps.onFaults);
  try {
    // The SDK's own timeouts start only when the transport is open.
    await unlessAborted(signal, client.connect(repairing, { timeout: totalMs, signal }));
  } catch (cause) {
    const failure = connectFailure(cause, { transport, server, deps, isLate: deadline.aborted, totalMs });
    await transport.close().catch(() => {}); // it may not be open
    throw failure;
  }
  return connectionOf(client, transport, server, closed.promise);
}

interface Attempt {
  readonly transport: Transport;
  readonly server: McpServerConfig;
  readonly deps: ConnectDeps;
  readonly isLate: boolean;
  readonly totalMs: number;
}

function connectFailure(cause: unknown, { transport, server, deps, isLate, totalMs }: Attempt): McpFailure {
  const why = isLate
    ? `${timeoutText(totalMs)}; its startup_timeout_secs can allow more`
    : (exitReasonOf(transport) ?? reasonOf(cause, totalMs));
  const needsToken = isUnauthorized(cause);
  const hint = needsToken && maySignIn(server, deps) ? `, or: svc mcp login ${server.label}` : "";
  return new McpFailure(why + hint, { cause, needsToken, isFinal: isLate });
}

function exitReasonOf(transport: Transport): string | undefined {
  return transport instanceof StdioTransport ? transport.exitReason : undefined;
}
