// MCP servers in the web interface: the body that adds one, and the interface of the store. The servers of the configuration are
// listed beside them, because a conversation can do without the tools of any server.

import { type Static, Type } from "@sinclair/typebox";
import type { McpSelection } from "./agent.ts";
import type { Caller } from "./caller.ts";
import type { McpOffers } from "./mcp-offers.ts";

const HEADER = { minLength: 1, maxLength: 4096 } as const;

/** A server to add. A command is no part of it: the web interface starts no programs. */
export const PageMcpRequest = Type.Object(
  {
    name: Type.String({
      pattern: "^[A-Za-z0-9_-]{1,32}$",
      description: "1 to 32 letters, digits, - and _",
    }),
    url: Type.String({ pattern: "^https?://.", maxLength: 2048, description: "an http or https address" }),
    bearer_token: Type.Optional(Type.String(HEADER)),
    headers: Type.Optional(
      Type.Record(Type.String({ pattern: "^[A-Za-z0-9-]{1,64}$" }), Type.String(HEADER), {
        additionalProperties: false,
        propertyNames: { description: "names of headers" },
      }),
    ),
  },
  { additionalProperties: false },
);
export type PageMcpRequest = Static<typeof PageMcpRequest>;

/** A new token of a server. */
export const PageMcpToken = Type.Object(
  { bearer_token: Type.String(HEADER) },
  { additionalProperties: false },
);
export type PageMcpToken = Static<typeof PageMcpToken>;

/** A server as the web interface shows it: without its path, token and headers. */
export interface PageMcpServer {
  readonly id: string;
  readonly name: string;
  readonly origin: "configuration" | "page";
  /** Absent for a process. */
  readonly host?: string;
  readonly status: "connecting" | "connected" | "failed";
  /** Why it is not connected. */
  readonly problem?: string;
  /** Whether it refuses access for lack of a valid token. */
  readonly needs_token?: true;
  readonly tools: readonly { readonly name: string; readonly description: string }[];
  /** Tools that are repaired or left out, and why; absent where all are as they should be. */
  readonly faults?: readonly string[];
}

/** The servers whose tools a caller's conversations can have. */
export interface PageMcp {
  /** Those of the configuration and those that `own`, if there is one, added. */
  list(own: Caller | undefined): readonly PageMcpServer[];
  /** Prompts and resources of a conversation's servers, once all have been tried. `selection` absent: those of the configuration. */
  offers(selection: McpSelection | undefined, caller: Caller): Promise<McpOffers>;
  /** What svc logged of one, and what its process wrote to stderr, oldest first. Throws `mcp_server_not_found`. */
  log(id: string, own: Caller | undefined): readonly string[];
  /** Adds one and starts to connect. Throws `invalid_request`, `state_full`, `capability_disabled`. */
  add(server: PageMcpRequest, caller: Caller): PageMcpServer;
  /** Gives one another token, and connects again. Throws `mcp_server_not_found`. */
  setToken(id: string, token: PageMcpToken, caller: Caller): PageMcpServer;
  /** Throws `mcp_server_not_found`. */
  remove(id: string, caller: Caller): void;
}
