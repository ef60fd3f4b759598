// The server's own MCP endpoint, POST /mcp on a port of its own. Spec: MCP, inbound server. Every request stands for
// itself: there are no sessions and no streams. The SDK's server is stricter than the interface (it wants Accept and
// version headers, and answers wrong JSON with HTTP errors), so the little that is needed is written out here.
// `notifications/cancelled` has no effect: ids of different clients can be equal, so a client closes its connection.

import { assert } from "../../core/assert.ts";
import { ServiceError } from "../../core/error.ts";
import { isObject } from "../../core/json.ts";
import { MCP_VERSION, VERSION } from "../../core/version.ts";
import { readJson } from "../body.ts";
import type { HttpDeps } from "../deps.ts";
import { errorResponse, refusedResponse, toServiceError } from "../errors.ts";
import { type Gate, newGate } from "../gate.ts";
import { preflightAnswer } from "../hooks/cors.ts";
import type { OriginPolicy } from "../hooks/origins.ts";
import { type Observation, observed, observing } from "../observe.ts";
import { routeTable } from "../route-table.ts";
import { type Client, clientOf } from "../run.ts";
import type { Handler } from "../server.ts";
import { errorBody, idOf, requestOf, resultBody, RPC_ERROR, RpcError, type RpcRequest } from "./rpc.ts";
import { OFFERED_TOOLS } from "./tools.ts";
import { discovery, hasReadableFailures, inVersion, versionOf } from "./versions.ts";

const PATH = "/mcp";

const INSTRUCTIONS =
  "This server runs a language model on its own machine. Call the tool `chat` with a conversation to get its answer.";

export interface McpDeps extends HttpDeps {
  /** The configured listen address. Pages of that host may call it. */
  readonly host: string;
}

/** Answers MCP clients. Keys, metrics and the access log hold here as on the main port. */
export function createMcp(deps: McpDeps): Handler {
  const table = routeTable([{ method: "POST", path: PATH }], {});
  const gate = newGate({ ...deps, originPolicy: pagePolicy(deps) });
  const observe = observing({
    ...deps,
    routes: () => table,
    refused: (refusal, seen) => refusedResponse(refusal, seen, false),
  });
  const handle = observe((request) => answer(deps, gate, request));
  // An observed handler returns what the handler does.
  return { fetch: (request) => handle(request) as Promise<Response> };
}

/** Addresses that stand for all of a machine's, and so for none in particular. */
const WILDCARDS: ReadonlySet<string> = new Set(["0.0.0.0", "::"]);

/** Pages of other origins may never call it, with a key or without; those of this machine's other ports where the main port lets them. */
function pagePolicy({ host, originPolicy }: McpDeps): OriginPolicy {
  const hosts = WILDCARDS.has(host) ? [] : [host.includes(":") ? `[${host}]` : host];
  const { origins = [], otherPorts = true } = originPolicy ?? {};
  return { origins, hosts, foreign: "none", otherPorts };
}

async function answer(deps: McpDeps, gate: Gate, request: Request): Promise<Response> {
  const seen = observed();
  assert(seen !== undefined, "every request is observed");
  if (!gate.isPageAllowed(request, seen.rule)) {
    const refusal = new RpcError("invalidRequest", "Pages of this origin may not use this server.");
    return Response.json(errorBody(null, refusal), { status: 403 });
  }
  const response = await allowedAnswer(deps, gate, request, seen);
  const origin = request.headers.get("origin");
  if (origin === null) return response;
  response.headers.set("access-control-allow-origin", origin);
  response.headers.set("vary", "origin");
  return response;
}

async function allowedAnswer(
  deps: McpDeps,
  gate: Gate,
  request: Request,
  { path, rule }: Observation,
): Promise<Response> {
  try {
    gate.check(request, rule);
    if (path !== PATH) {
      const message = `there is no route ${path} on this port; MCP is at POST ${PATH}`;
      throw new ServiceError("route_not_found", message);
    }
  } catch (thrown) {
    return errorResponse(toServiceError(thrown, deps.log));
  }
  if (request.method === "OPTIONS") return preflightAnswer(request.headers, true, "POST");
  if (request.method === "POST") return answerPost(deps, request);
  const message = `${PATH} does not support ${request.method}; use POST`;
  return errorResponse(new ServiceError("method_not_allowed", message), { allow: "POST" });
}

/** Errors of JSON-RPC travel with status 200; those of HTTP itself (size, content type) have their own. */
async function answerPost(deps: McpDeps, request: Request): Promise<Response> {
  let json: unknown;
  try {
    json = await readJson(request);
  } catch (thrown) {
    const error = toServiceError(thrown, deps.log);
    if (error.code !== "invalid_json") return errorResponse(error);
    return Response.json(errorBody(null, new RpcError("parse", "The body is not valid JSON.")));
  }
  try {
    const rpc = requestOf(json);
    if (rpc === undefined || isNotification(rpc)) return new Response(null, { status: 202 });
    const version = versionOf(request.headers, rpc);
    const result = await resultOf(deps, rpc, { version, client: clientOf(request) });
    return Response.json(resultBody(idOf(rpc), inVersion(result, version)));
  } catch (thrown) {
    const error =
      thrown instanceof RpcError
        ? thrown
        : new RpcError("internal", toServiceError(thrown, deps.log).message);
    const status = error.code === RPC_ERROR.unsupportedVersion ? 400 : 200; // the protocol asks for it
    return Response.json(errorBody(idOf(json), error), { status });
  }
}

interface Asked {
  /** Version of the protocol that the request names. */
  readonly version: string | undefined;
  readonly client: Client;
}

function isNotification({ id, method }: RpcRequest): boolean {
  return id === undefined || method.startsWith("notifications/");
}

async function resultOf(deps: McpDeps, { method, params }: RpcRequest, asked: Asked): Promise<object> {
  switch (method) {
    case "initialize":
      return {
        protocolVersion: MCP_VERSION,
        capabilities: { tools: {} },
        serverInfo: { name: "svc", version: VERSION },
        instructions: INSTRUCTIONS,
      };
    case "server/discover":
      return discovery(INSTRUCTIONS);
    case "ping":
      return {};
    case "tools/list":
      return {
        tools: OFFERED_TOOLS.map(({ name, description, inputSchema }) => ({
          name,
          description,
          inputSchema,
        })),
      };
    case "tools/call":
      return callTool(deps, params ?? {}, asked);
    default:
      throw new RpcError("methodNotFound", `Method not found: ${method.slice(0, 200)}`);
  }
}

async function callTool(
  deps: McpDeps,
  { name, arguments: args = {} }: Readonly<Record<string, unknown>>,
  { version, client }: Asked,
): Promise<object> {
  if (typeof name !== "string")
    throw new RpcError("invalidParams", "params.name must be the name of a tool.");
  const tool = OFFERED_TOOLS.find((one) => one.name === name);
  if (tool === undefined) throw new RpcError("methodNotFound", `Tool not found: ${name.slice(0, 200)}`);
  if (!isObject(args)) {
    return failedCall("arguments must be an object", version);
  }
  try {
    const { text, isError } = await tool.run(deps, args, client);
    return { content: [{ type: "text", text }], ...(isError && { isError }) };
  } catch (thrown) {
    return failedCall(toServiceError(thrown, deps.log).message, version);
  }
}

/** A failed call: a result that a model can read where the client's version has that, else an error. */
function failedCall(reason: string, version: string | undefined): object {
  const text = `Tool execution error: ${reason}`;
  if (!hasReadableFailures(version)) throw new RpcError("internal", text);
  return { content: [{ type: "text", text }], isError: true };
}
