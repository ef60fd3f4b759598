// /ui/mcp: tools and MCP servers in the web interface, and which servers its conversations have. Hidden from the API's document.

import { Type } from "@sinclair/typebox";
import { Elysia } from "elysia";
import type { Caller } from "../../core/caller.ts";
import type { ChatCall } from "../../dialects/chat/request.ts";
import type { McpSelection } from "../../core/agent.ts";
import { ServiceError } from "../../core/error.ts";
import { PageMcpRequest, PageMcpToken } from "../../core/page-mcp.ts";
import { checker } from "../../dialects/shared/check.ts";
import { readJsonObject } from "../body.ts";
import type { HttpDeps } from "../deps.ts";
import { connectionOf } from "../connection.ts";
import { callerOf } from "../observe.ts";

/** Header with the ids of the servers that a conversation does without: a JSON array, percent-encoded. */
const OFF_HEADER = "x-svc-mcp-off";

const HIDDEN = { detail: { hide: true } };
const RAW = { ...HIDDEN, parse: "none" } as const; // body.ts reads it

const checkServer = checker(PageMcpRequest);
const checkToken = checker(PageMcpToken);
const checkOff = checker(
  Type.Array(Type.String({ minLength: 1, maxLength: 256 }), { maxItems: 512 }),
  OFF_HEADER,
);

/** Routes of MCP servers. */
export function uiMcpRoutes(deps: HttpDeps) {
  const { servers } = deps.mcp;
  return new Elysia()
    .get(
      "/ui/mcp",
      ({ request }) => {
        const canAdd = isAllowed(deps, request);
        const tools = [...(deps.compat?.hosted ?? [])];
        return Response.json({ can_add: canAdd, servers: servers.list(ownOf(deps, request)), tools });
      },
      HIDDEN,
    )
    .get(
      "/ui/mcp/:id/log",
      ({ request, params }) => {
        const mayRead = deps.mcp.mayReadLogs?.(connectionOf(request)?.peer(), request.headers) ?? false;
        if (!mayRead) {
          const message = "logs of MCP servers can be read from this machine, or with an API key";
          throw new ServiceError("capability_disabled", message);
        }
        return Response.json({ lines: servers.log(params.id, ownOf(deps, request)) });
      },
      HIDDEN,
    )
    .post(
      "/ui/mcp",
      async ({ request }) => {
        refuseOthers(deps, request);
        const server = checkServer(await readJsonObject(request));
        return Response.json(servers.add(server, callerOf(request)), { status: 201 });
      },
      RAW,
    )
    .put(
      "/ui/mcp/:id/token",
      async ({ request, params }) => {
        refuseOthers(deps, request);
        const token = checkToken(await readJsonObject(request));
        return Response.json(servers.setToken(params.id, token, callerOf(request)));
      },
      RAW,
    )
    .delete(
      "/ui/mcp/:id",
      ({ request, params }) => {
        refuseOthers(deps, request);
        servers.remove(params.id, callerOf(request));
        return new Response(null, { status: 204 });
      },
      HIDDEN,
    );
}

/** A call of the web interface with the MCP servers that its header leaves. */
export function withMcp(deps: HttpDeps, request: Request, call: ChatCall): ChatCall {
  const mcp = selectionOf(deps, request);
  return mcp === undefined ? call : { ...call, agent: { ...call.agent, mcp } };
}

/** The servers that the header of the web interface leaves; undefined without one. */
export function selectionOf(deps: HttpDeps, request: Request): McpSelection | undefined {
  const header = request.headers.get(OFF_HEADER);
  return header === null ? undefined : { off: offOf(header), own: isAllowed(deps, request) };
}

function offOf(header: string): readonly string[] {
  let value: unknown;
  try {
    value = JSON.parse(decodeURIComponent(header));
  } catch {
    // the check names the header
  }
  return checkOff(value);
}

function isAllowed(deps: HttpDeps, request: Request): boolean {
  return deps.mcp.isAllowed(connectionOf(request)?.peer(), request.headers);
}

/** Whose servers are shown beside those of the configuration. */
function ownOf(deps: HttpDeps, request: Request): Caller | undefined {
  return isAllowed(deps, request) ? callerOf(request) : undefined;
}

function refuseOthers(deps: HttpDeps, request: Request): void {
  if (isAllowed(deps, request)) return;
  const message =
    "MCP servers cannot be added here: start svc with --ui-mcp, and use it from this machine or with an API key";
  throw new ServiceError("capability_disabled", message);
}
