// The JSON file that lists the MCP servers whose tools models may call. Spec: MCP. The schema is validator, static type
// and, through its descriptions, the source of error messages about keys. Reading the file is config's business.

import { type Static, Type } from "@sinclair/typebox";
import { MCP_SERVERS_MAX } from "./limits.ts";

const CLOSED = { additionalProperties: false } as const;

const Seconds = (description: string) => Type.Integer({ minimum: 1, maximum: 86_400, description });

const Headers = Type.Record(
  Type.String(),
  Type.String({ description: "A header's value must be a string." }),
  {
    description: "headers must be an object with string values.",
  },
);

const Args = Type.Array(Type.String(), { description: "args must be a list of strings." });
const Env = Type.Record(Type.String(), Type.String(), {
  description: "env must be an object with string values.",
});
const OnOff = Type.Boolean({ description: "Write true or false." });

const HttpSource = Type.Object(
  {
    type: Type.Literal("Http"),
    url: Type.String({
      pattern: "^https?://.",
      description: "Write an address that begins with http:// or https://.",
    }),
    headers: Type.Optional(Headers),
    timeout_secs: Type.Optional(Seconds("Write whole seconds, 1 to 86400; the default is 30.")),
  },
  CLOSED,
);

const ProcessSource = Type.Object(
  {
    type: Type.Literal("Process"),
    command: Type.String({ minLength: 1, description: "Name the program to start." }),
    args: Type.Optional(Args),
    env: Type.Optional(Env),
    work_dir: Type.Optional(
      Type.Union([Type.String({ minLength: 1 }), Type.Null()], { description: "Name a folder." }),
    ),
  },
  CLOSED,
);

const WebSocketSource = Type.Object(
  {
    type: Type.Literal("WebSocket"),
    url: Type.String({
      pattern: "^wss?://.",
      description: "Write an address that begins with ws:// or wss://.",
    }),
    headers: Type.Optional(Headers),
    timeout_secs: Type.Optional(Seconds("Write whole seconds, 1 to 86400; the default is 30.")),
  },
  CLOSED,
);

export const McpSource = Type.Union([HttpSource, ProcessSource, WebSocketSource]);
export type McpSource = Static<typeof McpSource>;

/** A client that the operator has registered at the server's authorization server, where that has no dynamic registration. */
export const OAuthClient = Type.Object(
  {
    client_id: Type.Optional(
      Type.String({ minLength: 1, description: "Write the id of the registered client." }),
    ),
    client_secret: Type.Optional(
      Type.String({ minLength: 1, description: "Write the client's secret, such as env:NAME." }),
    ),
    client_metadata_url: Type.Optional(
      Type.String({
        pattern: "^https://.",
        description: "Write the https address of the client's metadata document.",
      }),
    ),
    callback_port: Type.Optional(
      Type.Integer({
        minimum: 1,
        maximum: 65_535,
        description: "Write the port of the registered address http://127.0.0.1:PORT/callback.",
      }),
    ),
  },
  { ...CLOSED, description: "Write client_id or client_metadata_url." },
);
export type OAuthClient = Static<typeof OAuthClient>;

const McpServer = Type.Object(
  {
    id: Type.Optional(Type.String({ minLength: 1, description: "Give each server an id of its own." })),
    name: Type.Optional(Type.String({ description: "The display name must be a string." })),
    source: McpSource,
    enabled: Type.Optional(OnOff),
    tool_prefix: Type.Optional(
      Type.Union([Type.String({ pattern: "^[A-Za-z0-9_.-]{1,64}$" }), Type.Null()], {
        description: "Use 1 to 64 letters, digits and _ . -; null adds no prefix.",
      }),
    ),
    resources: Type.Optional(
      Type.Union([Type.Array(Type.String()), Type.Null()], {
        description: "resources must be a list of strings.",
      }),
    ),
    bearer_token: Type.Optional(
      Type.Union([Type.String({ minLength: 1 }), Type.Null()], {
        description: "The token must be a string.",
      }),
    ),
    oauth: Type.Optional(OAuthClient),
    defer_loading: Type.Optional(OnOff),
    startup_timeout_secs: Type.Optional(
      Seconds(
        "Write whole seconds, 1 to 86400; the default is 30. A cold npx, uvx or docker needs 60 or more.",
      ),
    ),
    tool_timeout_secs: Type.Optional(
      Seconds("Write whole seconds, 1 to 86400; the default is that of the whole file."),
    ),
  },
  CLOSED,
);
export type McpServer = Static<typeof McpServer>;

const COMMON = {
  disabled: Type.Optional(OnOff),
  enabled: Type.Optional(OnOff),
  defer_loading: Type.Optional(OnOff),
  startup_timeout_secs: Type.Optional(Seconds("Write whole seconds, 1 to 86400; the default is 30.")),
  tool_timeout_secs: Type.Optional(Seconds("Write whole seconds, 1 to 86400.")),
  timeout: Type.Optional(
    Type.Number({ minimum: 1, description: "Write milliseconds; numbers below 1000 are seconds." }),
  ),
};

/** A server as desktop clients and editors have it. They share such files, so keys that mean nothing here are left alone. */
export const DesktopServer = Type.Union(
  [
    Type.Object({
      command: Type.String({ minLength: 1, description: "Name the program to start." }),
      args: Type.Optional(Args),
      env: Type.Optional(Env),
      cwd: Type.Optional(Type.String({ minLength: 1, description: "Name a folder." })),
      ...COMMON,
    }),
    Type.Object({
      url: Type.String({
        pattern: "^(?:https?|wss?)://.",
        description: "Write an address that begins with http://, https://, ws:// or wss://.",
      }),
      headers: Type.Optional(Headers),
      oauth: Type.Optional(OAuthClient),
      bearer_token: Type.Optional(Type.String({ minLength: 1, description: "The token must be a string." })),
      ...COMMON,
    }),
  ],
  { description: "Write a command, with args, env and cwd, or a url, with headers." },
);
export type DesktopServer = Static<typeof DesktopServer>;

export const McpFile = Type.Object(
  {
    servers: Type.Optional(
      Type.Array(McpServer, {
        maxItems: MCP_SERVERS_MAX,
        description: `List the servers; at most ${MCP_SERVERS_MAX}.`,
      }),
    ),
    mcpServers: Type.Optional(
      Type.Record(Type.String({ minLength: 1 }), DesktopServer, {
        maxProperties: MCP_SERVERS_MAX,
        description: `Write an object of servers by name, as in desktop clients; at most ${MCP_SERVERS_MAX}.`,
      }),
    ),
    auto_register_tools: Type.Optional(OnOff),
    tool_timeout_secs: Type.Optional(Seconds("Write whole seconds, 1 to 86400; the default is 30.")),
    max_concurrent_calls: Type.Optional(
      Type.Integer({
        minimum: 1,
        maximum: 1024,
        description: "Write a number from 1 to 1024; the default is 10.",
      }),
    ),
  },
  { ...CLOSED, description: "Write an object with a list of servers." },
);
export type McpFile = Static<typeof McpFile>;

/** A server to connect to, complete. */
export interface McpServerConfig {
  readonly id: string;
  /** For people and logs. */
  readonly label: string;
  /** Stands before the names of its tools; absent: nothing does. */
  readonly prefix?: string;
  readonly bearerToken?: string;
  /** Absent: svc registers itself where a sign-in is needed. */
  readonly oauth?: OAuthClient;
  readonly source: McpSource;
  /** Time to connect, handshake included, milliseconds. Default: mcp/limits.ts. */
  readonly startupMs?: number;
  /** Time of a call, milliseconds; absent: that of the whole configuration. */
  readonly toolTimeoutMs?: number;
  /** Models find its tools with a search. */
  readonly isDeferred?: true;
}

/** The servers that are enabled, and how they are used. */
export interface McpConfig {
  readonly servers: readonly McpServerConfig[];
  /** Whether models see the tools. */
  readonly registersTools: boolean;
  readonly toolTimeoutMs: number;
  /** Calls at the same time, over all servers. */
  readonly callsMax: number;
}
