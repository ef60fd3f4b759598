// JSON-RPC 2.0 as MCP uses it over HTTP: one request per body, one answer. Knows neither HTTP nor the methods.

import { type Static, Type } from "@sinclair/typebox";
import { TypeCompiler } from "@sinclair/typebox/compiler";

const RpcRequest = Type.Object({
  jsonrpc: Type.Literal("2.0"),
  /** Absent for a notification, which is not answered. */
  id: Type.Optional(Type.Union([Type.String(), Type.Number(), Type.Null()])),
  method: Type.String(),
  params: Type.Optional(Type.Record(Type.String(), Type.Unknown())),
});
export type RpcRequest = Static<typeof RpcRequest>;
export type RpcId = NonNullable<RpcRequest["id"]> | null;

/** JSON-RPC 2.0, section 5.1. */
export const RPC_ERROR = {
  parse: -32_700,
  invalidRequest: -32_600,
  methodNotFound: -32_601,
  invalidParams: -32_602,
  internal: -32_603,
  /** MCP 2026-07-28. */
  unsupportedVersion: -32_022,
} as const;

/** A failure that is reported to the caller. */
export class RpcError extends Error {
  override readonly name = "RpcError";
  readonly code: number;
  readonly data: object | undefined;

  constructor(kind: keyof typeof RPC_ERROR, message: string, data?: object) {
    super(message);
    this.code = RPC_ERROR[kind];
    this.data = data;
  }
}

const requests = TypeCompiler.Compile(RpcRequest);

/** The request of a body; undefined for a response, since svc sends no requests. Throws RpcError. */
export function requestOf(json: unknown): RpcRequest | undefined {
  if (Array.isArray(json))
    throw new RpcError("invalidRequest", "Batches are not supported: send one request per body.");
  if (isAnswer(json)) return undefined;
  if (requests.Check(json)) return json;
  const what = 'Send {"jsonrpc": "2.0", "id": a text or number, "method": a text, "params": an object}.';
  throw new RpcError("invalidRequest", `This is not a JSON-RPC 2.0 request. ${what}`);
}

function isAnswer(json: unknown): boolean {
  if (typeof json !== "object" || json === null || "method" in json) return false;
  return "jsonrpc" in json && json.jsonrpc === "2.0" && ("result" in json || "error" in json);
}

/** The id to answer a body with that may be no request. */
export function idOf(json: unknown): RpcId {
  const id = typeof json === "object" && json !== null && "id" in json ? json.id : null;
  return typeof id === "string" || typeof id === "number" ? id : null;
}

export function resultBody(id: RpcId, result: unknown) {
  return { jsonrpc: "2.0", id, result } as const;
}

export function errorBody(id: RpcId, { code, message, data }: RpcError) {
  return { jsonrpc: "2.0", id, error: { code, message, ...(data === undefined ? {} : { data }) } } as const;
}
