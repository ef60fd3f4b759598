// A transport that repairs the results of requests before the SDK reads them.

import type { JSONRPCMessage, Transport, TransportSendOptions } from "@modelcontextprotocol/client";
import { MCP_OPEN_REQUESTS_MAX } from "./limits.ts";
import { repairResult } from "./repair.ts";

export class RepairingTransport implements Transport {
  onclose?: () => void;
  onerror?: (error: Error) => void;
  onmessage?: NonNullable<Transport["onmessage"]>;
  private readonly inner: Transport;
  private readonly onFaults: (faults: readonly string[]) => void;
  /** Methods of the requests that wait for their result. */
  private readonly methods = new Map<unknown, string>();

  /** `isPipe` makes the SDK read silence during the negotiation as an old server, as it does for processes. */
  constructor(inner: Transport, isPipe: boolean, onFaults: (faults: readonly string[]) => void) {
    this.inner = inner;
    this.onFaults = onFaults;
    if (isPipe) Object.assign(this, { pid: null, stderr: null });
  }

  async start(): Promise<void> {
    this.inner.onclose = () => this.onclose?.();
    this.inner.onerror = (error) => this.onerror?.(error);
    this.inner.onmessage = (message, extra) => this.onmessage?.(this.repaired(message), extra);
    await this.inner.start();
  }

  async send(message: JSONRPCMessage, options?: TransportSendOptions): Promise<void> {
    if ("method" in message && "id" in message) this.remember(message.id, message.method);
    await this.inner.send(message, options);
  }

  async close(): Promise<void> {
    await this.inner.close();
  }

  get hasPerRequestStream(): boolean {
    return this.inner.hasPerRequestStream === true;
  }

  get sessionId(): string | undefined {
    return this.inner.sessionId;
  }

  setProtocolVersion(version: string): void {
    this.inner.setProtocolVersion?.(version);
  }

  setSupportedProtocolVersions(versions: string[]): void {
    this.inner.setSupportedProtocolVersions?.(versions);
  }

  /** Requests that are cancelled get no result, so the oldest are dropped. */
  private remember(id: unknown, method: string): void {
    this.methods.set(id, method);
    const [oldest] = this.methods.keys();
    if (this.methods.size > MCP_OPEN_REQUESTS_MAX) this.methods.delete(oldest);
  }

  private repaired<T extends JSONRPCMessage>(message: T): T {
    if (!("id" in message) || "method" in message) return message;
    const method = this.methods.get(message.id);
    this.methods.delete(message.id);
    if (method === undefined || !("result" in message)) return message;
    const { result, faults } = repairResult(method, message.result);
    if (faults.length > 0) this.onFaults(faults);
    return { ...message, result };
  }
}
