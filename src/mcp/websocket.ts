// WebSocket transport: one JSON message per frame. The SDK has none because browsers cannot send headers with a WebSocket;
// Bun can.

import { type JSONRPCMessage, parseJSONRPCMessage, type Transport } from "@modelcontextprotocol/client";
import { MCP_STOP_MS } from "./limits.ts";

/** Bun's WebSocket takes headers; its browser type does not. */
const BunWebSocket = WebSocket as unknown as new (
  url: string,
  options: Bun.WebSocketOptions,
) => Bun.WebSocket;

export class WebSocketTransport implements Transport {
  onclose?: () => void;
  onerror?: (error: Error) => void;
  onmessage?: (message: JSONRPCMessage) => void;
  private readonly url: string;
  private readonly headers: Readonly<Record<string, string>>;
  private socket: Bun.WebSocket | undefined;

  constructor(url: string, headers: Readonly<Record<string, string>>) {
    this.url = url;
    this.headers = headers;
  }

  /** Resolves when the connection is open. */
  async start(): Promise<void> {
    const opened = Promise.withResolvers<void>();
    const socket = new BunWebSocket(this.url, { protocols: ["mcp"], headers: { ...this.headers } });
    this.socket = socket;
    socket.addEventListener("open", () => opened.resolve());
    socket.addEventListener("error", () => opened.reject(new Error("the connection could not be opened")));
    socket.addEventListener("close", () => {
      opened.reject(new Error("the connection was refused"));
      this.onclose?.();
    });
    socket.addEventListener("message", ({ data }) => this.receive(data));
    await opened.promise;
  }

  async send(message: JSONRPCMessage): Promise<void> {
    if (this.socket?.readyState !== WebSocket.OPEN) throw new Error("the connection is closed");
    this.socket.send(JSON.stringify(message));
  }

  async close(): Promise<void> {
    const { socket } = this;
    if (socket === undefined || socket.readyState === WebSocket.CLOSED) return;
    const cut = setTimeout(() => socket.terminate(), MCP_STOP_MS); // a server may not answer the close frame
    socket.addEventListener("close", () => clearTimeout(cut));
    socket.close();
  }

  private receive(data: unknown): void {
    try {
      this.onmessage?.(parseJSONRPCMessage(JSON.parse(String(data))));
    } catch (error) {
      this.onerror?.(error instanceof Error ? error : new Error(String(error)));
    }
  }
}
