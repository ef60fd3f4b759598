// stdio transport: an MCP server as a child process, one JSON message per line. Unlike the SDK's transport, the child has its
// own process group, so that its children are killed with it.

import {
  type JSONRPCMessage,
  ReadBuffer,
  serializeMessage,
  type Transport,
} from "@modelcontextprotocol/client";
import { lastWords } from "./last-words.ts";
import { MCP_MESSAGE_BYTES_MAX, MCP_STDERR_CHARS_MAX, MCP_STOP_MS } from "./limits.ts";
import type { McpSource } from "../core/mcp-config.ts";
import type { OrphanGuard } from "./orphans.ts";

export type ProcessSource = Extract<McpSource, { type: "Process" }>;

export interface StdioDeps {
  /** Environment that the child inherits. */
  readonly environment: Readonly<Record<string, string>>;
  readonly orphans: Pick<OrphanGuard, "add" | "remove">;
  /** Receives what the process writes to stderr. */
  readonly onStderr?: (text: string) => void;
}

const NEWLINE = 0x0a;

export class StdioTransport implements Transport {
  onclose?: () => void;
  onerror?: (error: Error) => void;
  onmessage?: (message: JSONRPCMessage) => void;
  private readonly source: ProcessSource;
  private readonly deps: StdioDeps;
  private child: ReturnType<typeof startChild> | undefined;
  private ended: Promise<void> = Promise.resolve();
  private stderrTail = "";
  private endedItself = true;

  constructor(source: ProcessSource, deps: StdioDeps) {
    this.source = source;
    this.deps = deps;
  }

  /** Spawns the process. Throws Bun's error if the command cannot be started. */
  async start(): Promise<void> {
    const child = startChild(this.source, this.deps.environment);
    this.child = child;
    this.deps.orphans.add(child.pid);
    const heard = Promise.allSettled([this.readMessages(child.stdout), this.readStderr(child.stderr)]);
    this.ended = (async () => {
      await child.exited;
      signalGroup(child.pid, "SIGKILL"); // its children may hold its pipes open
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

  /** Closes stdin, then sends SIGTERM and SIGKILL after grace periods. */
  async close(): Promise<void> {
    const { child } = this;
    if (child === undefined) return;
    if ((child.exitCode ?? child.signalCode) === null) this.endedItself = false;
    void child.stdin.end();
    const terminate = setTimeout(() => signalGroup(child.pid, "SIGTERM"), MCP_STOP_MS);
    const kill = setTimeout(() => signalGroup(child.pid, "SIGKILL"), 2 * MCP_STOP_MS);
    await this.ended;
    clearTimeout(terminate);
    clearTimeout(kill);
  }

  /** Exit status and last words on stderr, for the log; undefined unless the process ended by itself. */
  get exitReason(): string | undefined {
    const { child } = this;
    const isEnded = child !== undefined && (child.exitCode ?? child.signalCode) !== null;
    if (!isEnded || !this.endedItself) return undefined;
    const how = child.signalCode === null ? `exit code ${child.exitCode}` : `signal ${child.signalCode}`;
    const words = lastWords(this.stderrTail);
    return words === "" ? `its process ended with ${how}` : `its process ended with ${how}: ${words}`;
  }

  private async readMessages(output: ReadableStream<Uint8Array>): Promise<void> {
    const buffer = new ReadBuffer({ maxBufferSize: MCP_MESSAGE_BYTES_MAX });
    let pieces: Uint8Array[] = []; // of one line: the SDK's buffer copies and searches all of it for each
    let bytes = 0;
    try {
      for await (const chunk of output) {
        pieces.push(chunk);
        bytes += chunk.byteLength;
        if (!chunk.includes(NEWLINE) && bytes <= MCP_MESSAGE_BYTES_MAX) continue;
        buffer.append(Buffer.concat(pieces));
        pieces = [];
        bytes = 0;
        this.deliver(buffer);
      }
    } catch (error) {
      this.onerror?.(error instanceof Error ? error : new Error(String(error)));
      if (this.child !== undefined) signalGroup(this.child.pid, "SIGKILL"); // framing is lost
    }
  }

  /** Skips lines that are not messages, such as log output. */
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

  private async readStderr(errors: ReadableStream<Uint8Array>): Promise<void> {
    const decoder = new TextDecoder();
    for await (const chunk of errors) {
      const text = decoder.decode(chunk, { stream: true });
      this.stderrTail = (this.stderrTail + text).slice(-MCP_STDERR_CHARS_MAX);
      this.deps.onStderr?.(text);
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
    detached: true, // own process group, so that its children can be killed with it
  });
}

function signalGroup(group: number, signal: NodeJS.Signals): void {
  try {
    process.kill(-group, signal);
  } catch {
    // the group has ended
  }
}
