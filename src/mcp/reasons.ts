// Reasons of failures of MCP servers, in words for the log and the model, without URL, header or token. Knows no connection.

import {
  ProtocolError,
  SdkError,
  SdkErrorCode,
  SdkHttpError,
  UnauthorizedError,
} from "@modelcontextprotocol/client";
import { visibleLine } from "../core/visible-text.ts";
import { codeOf } from "../core/reason.ts";
import { MCP_WORDS_CHARS_MAX } from "./limits.ts";
import { McpFailure } from "./failure.ts";

export function isUnauthorized(cause: unknown): boolean {
  return cause instanceof UnauthorizedError || (cause instanceof SdkHttpError && cause.status === 401);
}

/** Reason of a failure, without URL, header or token. */
export function reasonOf(error: unknown, timeoutMs: number): string {
  if (error instanceof McpFailure) return error.message;
  if (isUnauthorized(error)) return "it needs a valid token (HTTP status 401)";
  if (error instanceof SdkHttpError) return httpReason(error);
  if (error instanceof ProtocolError) return brief(error.message); // the server's message
  if (error instanceof SdkError) {
    if (error.code === SdkErrorCode.RequestTimeout) return timeoutText(timeoutMs);
    if (error.code === SdkErrorCode.ConnectionClosed) return "the connection was lost";
    if (error.code === SdkErrorCode.InvalidResult) return "its response violates the MCP protocol";
    if (error.code === SdkErrorCode.EraNegotiationFailed)
      return "it offers no protocol version that svc knows";
  }
  const code = codeOf(error);
  if (code === "ENOENT") return "its command was not found; check the path in the MCP configuration";
  if (error instanceof Error && /protocol version is not supported/i.test(error.message))
    return "it answers with a protocol version that svc does not know";
  return code === "" ? "it could not be reached" : `it could not be reached (${code})`;
}

export function timeoutText(ms: number): string {
  return `it timed out after ${ms / 1000} seconds`;
}

/** Whether a status means that the server no longer has the session. Some servers send 400 instead of 404. */
export function isSessionLost(error: unknown): boolean {
  if (!(error instanceof SdkHttpError)) return false;
  return error.status === 404 || (error.status === 400 && /session/i.test(wordsOf(error) ?? ""));
}

function httpReason(error: SdkHttpError): string {
  const words = wordsOf(error);
  const status = `it responded with HTTP status ${error.status}`;
  return words === undefined ? status : `${status}: ${words}`;
}

/** The server's own words in the body of an error. */
function wordsOf({ data }: SdkHttpError): string | undefined {
  const body = data.text;
  if (typeof body !== "string" || body.trim() === "") return undefined;
  try {
    return messageIn(JSON.parse(body));
  } catch {
    return /^\s*</.test(body) ? undefined : brief(body); // a page of HTML says nothing to a model
  }
}

/** The message of a JSON-RPC error, of a problem document (RFC 9457) or of OAuth (RFC 6749, 5.2). */
function messageIn(body: unknown): string | undefined {
  if (typeof body === "string") return brief(body);
  if (typeof body !== "object" || body === null) return undefined;
  for (const key of ["error", "message", "error_description", "detail", "title"]) {
    const value: unknown = Reflect.get(body, key);
    const words = key === "error" && typeof value === "object" ? messageIn(value) : value;
    if (typeof words === "string" && words !== "") return brief(words);
  }
  return undefined;
}

/** One line of limited length, without addresses. */
function brief(words: string): string {
  return visibleLine(words, MCP_WORDS_CHARS_MAX).replaceAll(/\b[a-z]+:\/\/\S+/gi, "[address]");
}
