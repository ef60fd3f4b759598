// An open connection to one MCP server: its tools and calls, and how it ends. Knows no retries.

import {
  type Client,
  type Progress,
  ProtocolError,
  StreamableHTTPClientTransport,
  type Transport,
  UnauthorizedError,
} from "@modelcontextprotocol/client";
import type { McpServerConfig } from "../core/mcp-config.ts";
import { visibleLine } from "../core/visible-text.ts";
import { McpFailure, SessionLost } from "./failure.ts";
import { MCP_CONNECT_MS, MCP_PROGRESS_MS_MAX, MCP_WORDS_CHARS_MAX } from "./limits.ts";
import { isSessionLost, reasonOf } from "./reasons.ts";
import { resultOf } from "./result.ts";
import type { McpPart, McpResult } from "./types.ts";

/** A tool as listed by its server. */
export interface ListedTool {
  readonly name: string;
  readonly description?: string | undefined;
  readonly inputSchema: Readonly<Record<string, unknown>>;
}

/** A resource, or a template of addresses with variables in braces. */
export interface ListedResource {
  readonly uri: string;
  readonly name: string;
  readonly description: string | undefined;
}

/** A prompt that a person may choose. */
export interface ListedPrompt {
  readonly name: string;
  readonly title?: string | undefined;
  readonly description?: string | undefined;
  readonly arguments?:
    | readonly {
        readonly name: string;
        readonly description?: string | undefined;
        readonly required?: boolean | undefined;
      }[]
    | undefined;
}

/** A prompt with its arguments filled in. */
export interface FilledPrompt {
  readonly description: string | undefined;
  readonly messages: readonly { readonly role: "user" | "assistant"; readonly part: McpPart }[];
}

export interface CallOptions {
  /** Time without an answer and without progress, milliseconds. */
  readonly timeoutMs: number;
  readonly signal: AbortSignal;
  /** Receives what the server says of the call's progress. */
  readonly onProgress?: (message: string) => void;
}

/** An open connection. */
export interface Connection {
  /** Whether it uses a protocol version before 2026-07-28. */
  readonly isOld: boolean;
  /** All pages. Throws McpFailure. */
  listTools(): Promise<readonly ListedTool[]>;
  /** Throws SessionLost, or McpFailure with a message for the model. */
  call(name: string, args: Readonly<Record<string, unknown>>, options: CallOptions): Promise<McpResult>;
  /** What the server says of its use, for models. */
  readonly instructions: string | undefined;
  readonly hasResources: boolean;
  /** Resources and templates, all pages. Throws McpFailure. */
  listResources(signal: AbortSignal): Promise<readonly ListedResource[]>;
  /** Contents of a resource. Throws McpFailure. */
  readResource(uri: string, options: CallOptions): Promise<McpResult>;
  readonly hasPrompts: boolean;
  /** All pages. Throws McpFailure. */
  listPrompts(signal: AbortSignal): Promise<readonly ListedPrompt[]>;
  /** Throws McpFailure. */
  fillPrompt(
    name: string,
    args: Readonly<Record<string, string>>,
    options: CallOptions,
  ): Promise<FilledPrompt>;
  /** Resolves with the reason, for the log, when the connection ends. */
  readonly closed: Promise<string>;
  close(): Promise<void>;
}

function progressText({ progress, total, message = "" }: Progress): string {
  if (message !== "") return visibleLine(message, MCP_WORDS_CHARS_MAX);
  return total === undefined ? String(progress) : `${progress} of ${total}`;
}

/** The connection of a client that has shaken hands over the transport. */
export function connectionOf(
  client: Client,
  transport: Transport,
  { source, label }: McpServerConfig,
  closed: Promise<string>,
): Connection {
  const ownSecs = source.type === "Process" ? undefined : source.timeout_secs;
  const ownMs = ownSecs === undefined ? Infinity : ownSecs * 1000;
  const isOld = client.getProtocolEra() !== "modern";
  if (source.type === "Http" && isOld) client.onerror = onceAtATime(() => ping(client));
  if (!isOld && client.getServerCapabilities()?.tools?.listChanged === true) {
    client.listen({ toolsListChanged: true }).catch(() => {}); // without it the tools are those of the start
  }
  return {
    closed,
    isOld,
    instructions: client.getInstructions(),
    ...resourcesOf(client, ownMs),
    ...promptsOf(client, ownMs),
    async listTools() {
      const timeout = Math.min(ownMs, MCP_CONNECT_MS);
      try {
        return (await client.listTools(undefined, { timeout, cacheMode: "refresh" })).tools;
      } catch (cause) {
        throw new McpFailure(reasonOf(cause, timeout), { cause });
      }
    },
    async call(name, args, { timeoutMs, signal, onProgress }) {
      const timeout = Math.min(timeoutMs, ownMs);
      const options = {
        timeout,
        signal,
        onprogress: (progress: Progress) => onProgress?.(progressText(progress)),
        resetTimeoutOnProgress: true,
        maxTotalTimeout: Math.max(timeout, MCP_PROGRESS_MS_MAX),
      };
      try {
        return resultOf(await client.callTool({ name, arguments: { ...args } }, options));
      } catch (cause) {
        signal.throwIfAborted();
        if (isSessionLost(cause)) throw new SessionLost(reasonOf(cause, timeout), { cause });
        const hint = cause instanceof UnauthorizedError ? `; sign in again: svc mcp login ${label}` : "";
        throw new McpFailure(reasonOf(cause, timeout) + hint, { cause });
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

/** Requests about resources. `ownMs`: the server's own timeout. */
function resourcesOf(
  client: Client,
  ownMs: number,
): Pick<Connection, "hasResources" | "listResources" | "readResource"> {
  return {
    hasResources: client.getServerCapabilities()?.resources !== undefined,
    async listResources(signal) {
      const options = { timeout: Math.min(ownMs, MCP_CONNECT_MS), signal };
      return failing(options, async () => {
        const { resources } = await client.listResources(undefined, options);
        const templates = await client.listResourceTemplates(undefined, options).catch(() => undefined); // few have any
        const filled = (templates?.resourceTemplates ?? []).map(({ uriTemplate: uri, ...rest }) => ({
          uri,
          ...rest,
        }));
        return [...resources, ...filled].map(({ uri, name, description }) => ({ uri, name, description }));
      });
    },
    async readResource(uri, { timeoutMs, signal }) {
      const options = { timeout: Math.min(timeoutMs, ownMs), signal };
      return failing(options, async () => {
        const { contents } = await client.readResource({ uri }, options);
        return resultOf({ content: contents.map((resource) => ({ type: "resource", resource })) });
      });
    },
  };
}

/** Requests about prompts. */
function promptsOf(
  client: Client,
  ownMs: number,
): Pick<Connection, "hasPrompts" | "listPrompts" | "fillPrompt"> {
  return {
    hasPrompts: client.getServerCapabilities()?.prompts !== undefined,
    async listPrompts(signal) {
      const options = { timeout: Math.min(ownMs, MCP_CONNECT_MS), signal };
      return failing(options, async () => (await client.listPrompts(undefined, options)).prompts);
    },
    async fillPrompt(name, args, { timeoutMs, signal }) {
      const options = { timeout: Math.min(timeoutMs, ownMs), signal };
      return failing(options, async () => {
        const filled = await client.getPrompt({ name, arguments: { ...args } }, options);
        const messages = filled.messages.flatMap(({ role, content }) =>
          resultOf({ content: [content] }).parts.map((part) => ({ role, part })),
        );
        return { description: filled.description, messages };
      });
    },
  };
}

/** Makes a request whose failure is an McpFailure, unless the client has left. */
async function failing<T>(
  { timeout, signal }: { readonly timeout: number; readonly signal: AbortSignal },
  request: () => Promise<T>,
): Promise<T> {
  try {
    return await request();
  } catch (cause) {
    signal.throwIfAborted();
    throw new McpFailure(reasonOf(cause, timeout), { cause });
  }
}

/** Timeout of the request that terminates a session, milliseconds. */
const TERMINATE_SESSION_MS = 500;

/** HTTP does not report a lost server, so any error triggers a ping. A server without `ping` is there all the same. */
async function ping(client: Client): Promise<void> {
  try {
    await client.ping({ timeout: MCP_CONNECT_MS });
  } catch (error) {
    if (!(error instanceof ProtocolError)) await client.close();
  }
}

function onceAtATime(work: () => Promise<void>): () => void {
  let isBusy = false;
  return () => {
    if (isBusy) return;
    isBusy = true;
    void work().finally(() => (isBusy = false));
  };
}
