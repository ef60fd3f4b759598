// A server as a child process, one JSON message a line on its pipes. The SDK has such a transport, but its child shares
// our process group, so that children of the child outlive it.

import {
  type JSONRPCMessage,
  ReadBuffer,
  serializeMessage,
  type Transport,
} from "@modelcontextprotocol/client";
import { MCP_MESSAGE_BYTES_MAX, MCP_STDERR_CHARS_MAX, MCP_STOP_MS } from "./limits.ts";
import type { McpSource } from "../core/mcp-config.ts";
import type { OrphanGuard } from "./orphans.ts";

export type ProcessSource = Extract<McpSource, { type: "Process" }>;

export interface StdioDeps {
  /** What a child inherits of our environment. */
  readonly environment: Readonly<Record<string, string>>;
  readonly orphans: Pick<OrphanGuard, "add" | "remove">;
}

export class StdioTransport implements Transport {
  onclose?: () => void;
  onerror?: (error: Error) => void;
  onmessage?: (message: JSONRPCMessage) => void;
  private readonly source: ProcessSource;
  private readonly deps: StdioDeps;
  private child: ReturnType<typeof startChild> | undefined;
  private ended: Promise<void> = Promise.resolve();
  private lastWords = "";

  constructor(source: ProcessSource, deps: StdioDeps) {
    this.source = source;
    this.deps = deps;
  }

  /** Throws what Bun throws when the program cannot be started. */
  async start(): Promise<void> {
    const child = startChild(this.source, this.deps.environment);
    this.child = child;
    this.deps.orphans.add(child.pid);
    const heard = Promise.allSettled([this.listen(child.stdout), this.overhear(child.stderr)]);
    this.ended = (async () => {
      await child.exited;
      signalGroup(child.pid, "SIGKILL"); // children of the child, which may hold its pipes open
      this.deps.orphans.remove(child.pid);
      await heard;
      this.onclose?.();
    })();
  }

  async send(message: JSONRPCMessage): Promise<void> {
    if (this.child === undefined || this.child.exitCode !== null) throw new Error("the process has ended");
    void this.child.stdin.write(serializeMessage(message));
    await this.child.stdin.flush();
  }

  /** Closes the server's input, which asks it to end; insists after a while. */
  async close(): Promise<void> {
    const { child } = this;
    if (child === undefined) return;
    void child.stdin.end();
    const insist = setTimeout(() => signalGroup(child.pid, "SIGTERM"), MCP_STOP_MS);
    const force = setTimeout(() => signalGroup(child.pid, "SIGKILL"), 2 * MCP_STOP_MS);
    await this.ended;
    clearTimeout(insist);
    clearTimeout(force);
  }

  /** How the process ended and the end of what it wrote to stderr; undefined while it runs. For the log. */
  get epitaph(): string | undefined {
    const { child } = this;
    if (child === undefined || (child.exitCode ?? child.signalCode) === null) return undefined;
    const how = child.signalCode === null ? `exit code ${child.exitCode}` : `signal ${child.signalCode}`;
    const words = this.lastWords.trim().split("\n").at(-1) ?? "";
    return words === "" ? `its process ended with ${how}` : `its process ended with ${how}: ${words}`;
  }

  private async listen(output: ReadableStream<Uint8Array>): Promise<void> {
    const buffer = new ReadBuffer({ maxBufferSize: MCP_MESSAGE_BYTES_MAX });
    try {
      for await (const chunk of output) {
        buffer.append(Buffer.from(chunk));
        this.deliver(buffer);
      }
    } catch (error) {
      this.onerror?.(error instanceof Error ? error : new Error(String(error)));
      if (this.child !== undefined) signalGroup(this.child.pid, "SIGKILL"); // its lines make no sense any more
    }
  }

  /** Lines that are no messages are skipped: programs print things. */
  private deliver(buffer: ReadBuffer): void {
    for (;;) {
      try {
        const message = buffer.readMessage();
        if (message === null) return;
        this.onmessage?.(message);
      } catch (error) {
        this.onerror?.(error instanceof Error ? error : new Error(String(error)));
      }
    }
  }

  private async overhear(errors: ReadableStream<Uint8Array>): Promise<void> {
    const decoder = new TextDecoder();
    for await (const chunk of errors) {
      this.lastWords = (this.lastWords + decoder.decode(chunk, { stream: true })).slice(
        -MCP_STDERR_CHARS_MAX,
      );
    }
  }
}

function startChild(
  { command, args = [], env = {}, work_dir: folder }: ProcessSource,
  environment: Readonly<Record<string, string>>,
) {
  return Bun.spawn([command, ...args], {
    ...(typeof folder === "string" ? { cwd: folder } : {}),
    env: { ...environment, ...env },
    stdin: "pipe",
    stdout: "pipe",
    stderr: "pipe",
    detached: true, // a process group of its own, so that its children can be ended with it
  });
}

function signalGroup(group: number, signal: NodeJS.Signals): void {
  try {
    process.kill(-group, signal);
  } catch {
    // nobody is left in it
  }
}
