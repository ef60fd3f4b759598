// Access log: one line for each answered request, without query, headers or body.

import type { ObservedRequest } from "../core/telemetry.ts";

export type AccessLogFormat = "text" | "json";

/** Characters of a path that are logged. */
const PATH_CHARS_MAX = 256;

/** Methods that change nothing. */
const READING: ReadonlySet<string> = new Set(["GET", "HEAD", "OPTIONS"]);

/** A shorter wait for a turn is none, seconds. */
const WAIT_SECS_MIN = 0.001;

/** Whether a request is a probe, or loads or shows pages: what is written to the log only where that is asked for. */
export function isRoutine({ housekeeping, method }: ObservedRequest): boolean {
  return housekeeping && READING.has(method);
}

/** The line of a request; `time` is when its answer was complete. */
export function accessLine(request: ObservedRequest, format: AccessLogFormat, time: Date): string {
  return format === "json" ? jsonLine(request, time) : textLine(request, time);
}

function textLine(request: ObservedRequest, time: Date): string {
  const { method, status, model, bodyBytes, streamBytes, error, compat, unenforced, clientLeft, id } =
    request;
  const { key, queueSecs } = request;
  const words = [time.toISOString(), method, shownPath(request), status, `${milliseconds(request)}ms`];
  if (bodyBytes !== undefined) words.push(`in=${bodyBytes}B`);
  if (streamBytes !== undefined) words.push(`out=${streamBytes}B`);
  if (model !== "none") words.push(`model=${model}`);
  if (key !== undefined) words.push(`key=${key.replaceAll(/[^\x21-\x7e]/g, "_")}`);
  if (queueSecs !== undefined && queueSecs >= WAIT_SECS_MIN)
    words.push(`queued=${inMilliseconds(queueSecs)}ms`);
  if (error !== undefined) words.push(`error=${error}`);
  if (compat.size > 0) words.push(`compat=${[...compat].join(",")}`);
  if (unenforced.length > 0) words.push(`unenforced=${unenforced.join(",")}`);
  if (clientLeft) words.push("client_left");
  return [...words, `id=${id}`].join(" ");
}

function jsonLine(request: ObservedRequest, time: Date): string {
  return JSON.stringify({
    time: time.toISOString(),
    method: request.method,
    path: shownPath(request),
    route: request.route ?? null,
    status: request.status,
    duration_ms: milliseconds(request),
    model: request.model,
    key: request.key ?? null,
    queue_ms: request.queueSecs === undefined ? null : inMilliseconds(request.queueSecs),
    body_bytes: request.bodyBytes ?? null,
    stream_bytes: request.streamBytes ?? null,
    error: request.error ?? null,
    compat: [...request.compat],
    unenforced: request.unenforced,
    client_left: request.clientLeft,
    request_id: request.id,
  });
}

/** The id of an approval authorizes its answer, so logs omit it. */
const APPROVAL_ID = /(?<=^\/v1\/agent\/approvals\/).+/;

/** Printable and short, whatever a client sent. */
function shownPath({ path }: ObservedRequest): string {
  return path
    .replace(APPROVAL_ID, "*")
    .slice(0, PATH_CHARS_MAX)
    .replaceAll(/[^\x21-\x7e]/g, "?");
}

function milliseconds({ seconds }: ObservedRequest): number {
  return inMilliseconds(seconds);
}

function inMilliseconds(seconds: number): number {
  return Math.round(seconds * 1e6) / 1000;
}

/** Takes lines and writes those of one turn of the event loop together: a write costs more than a small answer. */
export function inBatches(write: (lines: string) => void): (line: string) => void {
  let waiting: string[] = [];
  const flush = (): void => {
    const lines = waiting.join("\n");
    waiting = [];
    write(lines);
  };
  return (line) => {
    if (waiting.push(line) === 1) setImmediate(flush);
  };
}
