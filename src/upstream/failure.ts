// Failure of an attempt: error for the client, whether a retry is safe, and the verdict on the upstream's health. Clients get an
// upstream's message, but never its address or key.

import { defined } from "../core/defined.ts";
import { ERROR_TABLE, type ErrorCode, ServiceError } from "../core/error.ts";
import { jsonIn } from "../core/json.ts";
import { codeOf } from "../core/reason.ts";
import { fieldsIn, stringIn } from "./forms.ts";
import { ERROR_CHARS_MAX, RETRY_AFTER_MS_MAX } from "./limits.ts";

/** Verdict of an attempt on its upstream. `busy`: healthy, but accepts no more requests for now. */
export type Verdict =
  | { readonly type: "well" }
  | { readonly type: "busy"; readonly ms: number }
  /** `isCertain`: no other request will get through either, so the cooldown begins at once. */
  | { readonly type: "failed"; readonly problem: string; readonly isCertain: boolean };

/** A failed attempt of which the client has received nothing. */
export interface Failure {
  readonly error: ServiceError;
  /** Whether another attempt cannot repeat anything that the first may have done. */
  readonly mayRetry: boolean;
  readonly verdict: Verdict;
  /** The upstream has no such route; others of its routes are well. */
  readonly isRouteMissing?: true;
}

const WELL: Verdict = { type: "well" };

/** Errors of the runtime's HTTP client for connections that were never there: nothing was written. */
const NO_CONNECTION =
  /^(?:ECONNREFUSED|ConnectionRefused|FailedToOpenSocket|ENOTFOUND|EAI_AGAIN|EAI_FAIL|EHOSTUNREACH|ENETUNREACH|EADDRNOTAVAIL|EPROTO|ERR_TLS.*|ERR_SSL.*|CERT_.*|.*_CERT.*|UNABLE_TO_.*|.*CERTIFICATE.*|HOSTNAME_MISMATCH)$/;

/** A request that got no answer. `runsNoTools`: it may be repeated although it may have been worked on. */
export function connectionFailure(thrown: unknown, runsNoTools: boolean): Failure {
  const code = codeOf(thrown) || "unknown";
  const isUnwritten = NO_CONNECTION.test(code);
  const problem = isUnwritten ? `no connection (${code})` : `the connection broke (${code})`;
  return {
    error: upstreamFailed(isUnwritten ? "could not be reached" : "closed the connection without an answer"),
    mayRetry: isUnwritten || runsNoTools,
    verdict: { type: "failed", problem, isCertain: isUnwritten },
  };
}

/** No event within first_token_timeout. The connection has been closed. */
export function timeoutFailure(secs: number, runsNoTools: boolean): Failure {
  const message = `the upstream server sent nothing within ${secs} seconds (routing.first_token_timeout); try again later`;
  return {
    error: new ServiceError("upstream_failed", message),
    mayRetry: runsNoTools,
    verdict: { type: "failed", problem: `no answer within ${secs} s`, isCertain: false },
  };
}

/** An invalid answer, before any event was passed on. */
export function garbageFailure(): Failure {
  return {
    error: upstreamFailed("sent something else than a completion"),
    mayRetry: false,
    verdict: { type: "failed", problem: "its answer is not a completion", isCertain: false },
  };
}

/** The answer of an upstream that refused. */
export function refusal(status: number, headers: Headers, body: string, secret?: string): Failure {
  const said = errorOf(body, secret);
  if (status === 429 || BUSY.has(status)) {
    const ms = retryAfterMs(headers);
    const code = status === 429 ? "queue_full" : "model_unavailable";
    const message = "all upstream servers are busy; try again soon";
    const error = new ServiceError(code, message, {
      retryAfterSecs: Math.max(1, Math.ceil((ms ?? 1000) / 1000)),
    });
    const verdict: Verdict =
      status === 429 || ms !== undefined
        ? { type: "busy", ms: ms ?? 1000 }
        : { type: "failed", problem: String(status), isCertain: false };
    return { error, mayRetry: true, verdict };
  }
  if (status === 501) {
    const message = said.message === "" ? "the upstream server does not do this" : said.message;
    return { error: new ServiceError("unsupported_capability", message), mayRetry: true, verdict: WELL };
  }
  if (status >= 500 || status === 408 || status === 425) {
    const verdict: Verdict = { type: "failed", problem: `status ${status}`, isCertain: false };
    return { error: upstreamFailed(`answered with status ${status}`), mayRetry: true, verdict };
  }
  if (status === 401 || status === 403) return misconfigured(`it refuses the key (status ${status})`);
  if (status >= 300 && status < 400)
    return misconfigured(`it redirects (status ${status}) to ${targetOf(headers)}`);
  if (status === 404 || status === 405)
    return /model/i.test(`${said.code} ${said.message}`)
      ? misconfigured(`it does not serve the model (status ${status})`)
      : missingRoute();
  const fault = OPERATORS.get(status);
  if (fault !== undefined) return misconfigured(`${fault} (status ${status})`);
  return { error: requestError(status, said), mayRetry: false, verdict: WELL };
}

/** Busy: 498 and 529 are what Groq and Anthropic say when they are overloaded. */
const BUSY: ReadonlySet<number> = new Set([498, 503, 529]);

/** Refusals that concern the operator's account or network, not the request. */
const OPERATORS: ReadonlyMap<number, string> = new Map([
  [402, "it wants to be paid"],
  [407, "a proxy before it wants a password"],
  [421, "it is not the server of this host name"],
  [451, "it may not serve this place"],
]);

/** Host and path that an answer redirects to, for the operator. */
function targetOf(headers: Headers): string {
  const location = headers.get("location") ?? "";
  const target = URL.canParse(location) ? new URL(location) : undefined;
  return target === undefined
    ? "another path; set the right url"
    : `${target.origin}${target.pathname}; set that url`;
}

/** An upstream without the route of chats: set up wrongly, unless it embeds or draws, which a chat must not take away. */
export function withoutChat(isProbe: boolean): Failure {
  const failure = misconfigured("it has no route for chats");
  return isProbe ? failure : { ...failure, verdict: WELL };
}

function missingRoute(): Failure {
  const message = "the upstream server does not have this route";
  const error = new ServiceError("unsupported_capability", message);
  return { error, mayRetry: true, verdict: WELL, isRouteMissing: true };
}

/** An error that came within the stream: the upstream's words. */
export function streamError(body: unknown, secret?: string): ServiceError {
  const said = errorOf(JSON.stringify({ error: body }), secret);
  if (isContextError(said)) return contextError(said);
  return upstreamFailed(
    said.message === ""
      ? "ended the answer with an error"
      : `ended the answer with an error: ${said.message}`,
  );
}

/** An answer that had begun broke off. */
export function brokenAnswer(what: string): ServiceError {
  return upstreamFailed(what);
}

function upstreamFailed(what: string): ServiceError {
  return new ServiceError("upstream_failed", `the upstream server ${what}`);
}

/** Needs a fix by the operator; another upstream may work. */
function misconfigured(problem: string): Failure {
  return {
    error: upstreamFailed("is not set up for this model; the operator must look at GET /v1/system/info"),
    mayRetry: true,
    verdict: { type: "failed", problem, isCertain: true },
  };
}

interface Said {
  readonly code: string;
  readonly message: string;
  readonly param?: string;
}

/** The error object of an answer in any of the usual shapes. */
function errorOf(body: string, secret: string | undefined): Said {
  const json = jsonIn(body); // none of a proxy's page, whose words are no use to a client
  const { error, detail } = fieldsIn(json);
  const outer = error ?? detail ?? json;
  const text = typeof outer === "string" ? outer : stringIn(outer, "message");
  const hidden = secret === undefined || secret === "" ? text : text.replaceAll(secret, "…");
  const param = stringIn(outer, "param");
  return {
    code: ["code", "type"].map((name) => stringIn(outer, name)).join(" "),
    message: hidden.slice(0, ERROR_CHARS_MAX).toWellFormed(),
    ...(param === "" ? {} : { param: param.slice(0, 200) }),
  };
}

/** The words of vLLM, SGLang, llama-server, OpenAI and Ollama for a prompt that is too long. */
const TOO_LONG =
  /context_length_exceeded|exceed_context_size|maximum context length|context (?:size|length|window).*exceed|exceed.*context (?:size|length|window)|longer than the (?:model's )?(?:maximum )?context|input is too long|prompt is too long/i;

function isContextError({ code, message }: Said): boolean {
  return TOO_LONG.test(code) || TOO_LONG.test(message);
}

function contextError({ message }: Said): ServiceError {
  const text = message === "" ? "the prompt exceeds the context of the model" : message;
  return new ServiceError("context_length_exceeded", text, { param: "messages" });
}

/** Codes of svc that concern the connection between the two servers, not the request. */
const NOT_THE_CLIENTS: ReadonlySet<string> = new Set([
  "invalid_api_key",
  "origin_not_allowed",
  "host_not_allowed",
  "request_timeout",
]);

/** The refusal of a request: our code where the upstream speaks it, else the nearest one by status. */
function requestError(status: number, said: Said): ServiceError {
  const { message, param } = said;
  const options = defined({ param });
  const own = said.code.split(" ").find((code): code is ErrorCode => code in ERROR_TABLE);
  if (own === "context_length_exceeded" && message !== "") return new ServiceError(own, message, options);
  if (isContextError(said)) return contextError(said);
  if (own !== undefined && ERROR_TABLE[own][0] < 500 && !NOT_THE_CLIENTS.has(own) && message !== "")
    return new ServiceError(own, message, options);
  const text = message === "" ? `the upstream server refused the request with status ${status}` : message;
  return new ServiceError(status === 413 ? "payload_too_large" : "invalid_request", text, options);
}

function retryAfterMs(headers: Headers): number | undefined {
  const secs = Number(headers.get("retry-after") ?? Number.NaN);
  return Number.isFinite(secs) && secs >= 0 ? Math.min(secs * 1000, RETRY_AFTER_MS_MAX) : undefined;
}
