// MCP servers on ports, and configurations that lead to them.

import { onTestFinished } from "bun:test";
import { join } from "node:path";
import {
  type JSONRPCMessage,
  parseJSONRPCMessage,
  type Transport,
  WebStandardStreamableHTTPServerTransport,
} from "@modelcontextprotocol/server";
import { defined } from "../../src/core/defined.ts";
import type { McpConfig, McpServerConfig } from "../../src/core/mcp-config.ts";
import { McpServers } from "../../src/mcp/servers.ts";
import type { SignIns } from "../../src/mcp/sign-in.ts";
import type { McpResult, McpTool } from "../../src/mcp/types.ts";
import { type DemoOptions, demoServer } from "./mcp-demo.ts";

/** Starts the demo server as a process. */
export function demoProcess(env: Readonly<Record<string, string>> = {}): McpServerConfig["source"] {
  return { type: "Process", command: process.execPath, args: [join(import.meta.dir, "mcp-demo.ts")], env };
}

export interface TestServers extends McpServers {
  readonly logged: string[];
  /** The tool of that name. */
  tool(name: string): McpTool;
  /** Calls it without ever giving up. */
  ask(name: string, args?: Readonly<Record<string, unknown>>): Promise<McpResult>;
}

/** Servers for one test, after the first attempt to connect to each. */
export async function testServers(
  sources: readonly (Pick<McpServerConfig, "source"> & Partial<McpServerConfig>)[],
  { signIns, ...options }: Partial<McpConfig> & { readonly signIns?: SignIns } = {},
): Promise<TestServers> {
  const logged: string[] = [];
  const servers = new McpServers(
    {
      servers: sources.map((server, index) => ({ id: `s${index}`, label: `s${index}`, ...server })),
      registersTools: true,
      toolTimeoutMs: 20_000,
      callsMax: 10,
      ...options,
    },
    {
      environment: { PATH: process.env["PATH"], SECRET: "hunter2" },
      log: (line) => void logged.push(line),
      ...defined({ signIns }),
    },
  );
  onTestFinished(() => servers.close());
  await servers.tried();
  const tool = (name: string): McpTool => {
    const found = servers.tools().find((one) => one.name === name);
    if (found === undefined) throw new Error(`there is no tool ${name}; the log says:\n${logged.join("\n")}`);
    return found;
  };
  return Object.assign(servers, {
    logged,
    tool,
    ask: (name: string, args: Readonly<Record<string, unknown>> = {}) =>
      tool(name).call(args, new AbortController().signal),
  });
}

/** The text of an answer. */
export function textOf({ parts }: McpResult): string {
  return parts.map((part) => (part.type === "text" ? part.text : `<${part.mimeType}>`)).join("\n");
}

export interface HttpDemo {
  readonly url: string;
  /** Headers of every request, newest last. */
  readonly seen: Headers[];
  /** Sessions that are open. */
  readonly sessions: Map<string, WebStandardStreamableHTTPServerTransport>;
  /** Answers with this status instead, while it is set. */
  status: number | undefined;
  stop(): Promise<void>;
}

export interface HttpDemoOptions extends DemoOptions {
  readonly port?: number;
  /** Answers instead of the demo server where it returns something. */
  readonly guard?: (request: Request) => Response | undefined | Promise<Response | undefined>;
}

/** The demo server behind streamable HTTP, with a session for each client. */
export function httpDemo({ port = 0, guard, ...options }: HttpDemoOptions = {}): HttpDemo {
  const sessions: HttpDemo["sessions"] = new Map();
  const seen: Headers[] = [];
  const fresh = async () => {
    const transport: WebStandardStreamableHTTPServerTransport = new WebStandardStreamableHTTPServerTransport({
      sessionIdGenerator: () => crypto.randomUUID(),
      onsessioninitialized: (id) => void sessions.set(id, transport),
      onsessionclosed: (id) => void sessions.delete(id),
    });
    await demoServer(options).connect(transport);
    return transport;
  };
  const server = Bun.serve({
    port,
    hostname: "127.0.0.1",
    idleTimeout: 0,
    fetch: async (request) => {
      seen.push(request.headers);
      if (demo.status !== undefined) return new Response("no", { status: demo.status });
      const instead = await guard?.(request);
      if (instead !== undefined) return instead;
      const id = request.headers.get("mcp-session-id");
      const transport = id === null ? await fresh() : sessions.get(id);
      return (await transport?.handleRequest(request)) ?? new Response("no such session", { status: 404 });
    },
  });
  onTestFinished(() => server.stop(true));
  const demo: HttpDemo = {
    url: `http://127.0.0.1:${server.port}/mcp`,
    seen,
    sessions,
    status: undefined,
    stop: () => server.stop(true),
  };
  return demo;
}

/** The demo server behind the transport of before 2025: a stream at GET /sse, messages to the place that it names. */
export function oldHttpDemo(): string {
  const clients = new Map<string, Transport>();
  const server = Bun.serve({
    port: 0,
    hostname: "127.0.0.1",
    idleTimeout: 0,
    fetch: async (request) => {
      const url = new URL(request.url);
      if (url.pathname === "/messages") {
        clients.get(url.searchParams.get("id") ?? "")?.onmessage?.(parseJSONRPCMessage(await request.json()));
        return new Response(null, { status: 202 });
      }
      if (request.method !== "GET") return new Response(null, { status: 405 });
      const id = crypto.randomUUID();
      const stream = new ReadableStream<string>({
        start: async (controller) => {
          controller.enqueue(`event: endpoint\ndata: /messages?id=${id}\n\n`);
          const transport = plainTransport((text) => controller.enqueue(`event: message\ndata: ${text}\n\n`));
          clients.set(id, transport);
          await demoServer().connect(transport);
        },
      });
      return new Response(stream, { headers: { "content-type": "text/event-stream" } });
    },
  });
  onTestFinished(() => server.stop(true));
  return `http://127.0.0.1:${server.port}/sse`;
}

export interface SocketDemo {
  readonly url: string;
  readonly seen: Headers[];
  /** Cuts all connections. */
  cut(): void;
}

/** The demo server behind a WebSocket. */
export function socketDemo(): SocketDemo {
  const seen: Headers[] = [];
  const sockets = new Set<Bun.ServerWebSocket<{ transport?: Transport }>>();
  const server = Bun.serve<{ transport?: Transport }>({
    port: 0,
    hostname: "127.0.0.1",
    fetch: (request, self) => {
      seen.push(request.headers);
      const headers = { "sec-websocket-protocol": "mcp" };
      return self.upgrade(request, { data: {}, headers }) ? undefined : new Response(null, { status: 400 });
    },
    websocket: {
      open: (socket) => {
        sockets.add(socket);
        socket.data.transport = plainTransport((text) => void socket.send(text));
        void demoServer().connect(socket.data.transport);
      },
      message: (socket, data) => {
        socket.data.transport?.onmessage?.(parseJSONRPCMessage(JSON.parse(String(data))));
      },
    },
  });
  onTestFinished(() => server.stop(true));
  const cut = (): void => {
    for (const socket of sockets) socket.terminate();
    sockets.clear();
  };
  return { url: `ws://127.0.0.1:${server.port}/`, seen, cut };
}

function plainTransport(write: (text: string) => void): Transport {
  return {
    start: async () => {},
    close: async () => {},
    send: async (message: JSONRPCMessage) => write(JSON.stringify(message)),
  };
}
