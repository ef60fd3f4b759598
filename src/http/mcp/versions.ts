// Protocol versions of the server's own MCP endpoint: the handshake of 2025-11-25 and before, and requests without a handshake since
// 2026-07-28, which name their version in `_meta` and in a header.

import { MCP_VERSION, VERSION } from "../../core/version.ts";
import { RpcError, type RpcRequest } from "./rpc.ts";

const MODERN = "2026-07-28";
/** Newest first. */
const VERSIONS = [MODERN, MCP_VERSION, "2025-06-18", "2025-03-26", "2024-11-05"];
/** The first version in which failed calls are results that a model can read. */
const READABLE_FAILURES = "2025-11-25";

const VERSION_KEY = "io.modelcontextprotocol/protocolVersion";
const SERVER_KEY = "io.modelcontextprotocol/serverInfo";

/** The version of a request; undefined where neither header nor `_meta` names one. Throws RpcError for an unknown one. */
export function versionOf(headers: Headers, { params }: RpcRequest): string | undefined {
  const meta = params?.["_meta"];
  const named: unknown =
    typeof meta === "object" && meta !== null ? Reflect.get(meta, VERSION_KEY) : undefined;
  const asked = headers.get("mcp-protocol-version") ?? (typeof named === "string" ? named : undefined);
  if (asked === undefined || VERSIONS.includes(asked)) return asked;
  const text = `Unsupported protocol version ${JSON.stringify(asked.slice(0, 64))}; use one of ${VERSIONS.join(", ")}.`;
  throw new RpcError("unsupportedVersion", text, { supported: VERSIONS, requested: asked.slice(0, 64) });
}

/** Whether a failed call is a result with `isError` instead of a JSON-RPC error. */
export function hasReadableFailures(version: string | undefined): boolean {
  return version !== undefined && version >= READABLE_FAILURES;
}

/** Answer to `server/discover`. */
export function discovery(instructions: string): object {
  return { supportedVersions: VERSIONS, capabilities: { tools: {} }, instructions };
}

/** A result in the words of its version. */
export function inVersion(result: object, version: string | undefined): object {
  if (version !== MODERN) return result;
  const _meta = { [SERVER_KEY]: { name: "svc", version: VERSION } };
  return { resultType: "complete", ttlMs: 0, cacheScope: "private", _meta, ...result };
}
