// Reads a JSON request body exactly once. Content type, size and syntax are checked here rather than by the framework
// so that every failure is svc's error object; Bun's own limit answers with an empty body.

import { ServiceError } from "../core/error.ts";
import { REQUEST_BODY_BYTES_MAX } from "./limits.ts";
import { boundedPieces } from "./body-pace.ts";
import { checkJsonShape } from "./json-shape.ts";
import { observed } from "./observe.ts";

/** Characters of a field's path in an error. */
const PARAM_CHARS_MAX = 200;

/** `application/json`, `application/vnd.x+json`, with or without parameters. */
const JSON_TYPE = /^application\/(?:[\w.+-]+\+)?json\s*(?:;|$)/i;

/**
 * The request's JSON object. Throws `unsupported_media_type`, `payload_too_large`, `request_timeout`,
 * `invalid_json`, or `invalid_request` when the JSON is not an object or the body breaks off.
 */
export async function readJsonObject(
  request: Request,
  bytesMax: number = REQUEST_BODY_BYTES_MAX,
): Promise<Readonly<Record<string, unknown>>> {
  checkContentType(request.headers);
  return readObject(request, bytesMax);
}

/** The same whatever content type the request declares. */
export async function readObjectOfAnyType(request: Request): Promise<Readonly<Record<string, unknown>>> {
  checkContentEncoding(request.headers);
  return readObject(request, REQUEST_BODY_BYTES_MAX);
}

async function readObject(request: Request, bytesMax: number): Promise<Readonly<Record<string, unknown>>> {
  const { json, bytes } = await readParsed(request, bytesMax);
  if (isObject(json)) {
    observed()?.bodyRead(bytes, json);
    return json;
  }
  throw new ServiceError("invalid_request", "the request body must be a JSON object");
}

/** The same where every field is optional: no body is an empty object. */
export async function readOptionalJsonObject(request: Request): Promise<Readonly<Record<string, unknown>>> {
  const isEmpty = request.body === null || request.headers.get("content-length") === "0";
  return isEmpty ? {} : readJsonObject(request);
}

/** The request's JSON, whatever it is. Throws as readJsonObject does. */
export async function readJson(
  request: Request,
  bytesMax: number = REQUEST_BODY_BYTES_MAX,
): Promise<unknown> {
  checkContentType(request.headers);
  return (await readParsed(request, bytesMax)).json;
}

async function readParsed(
  request: Request,
  bytesMax: number,
): Promise<{ readonly json: unknown; readonly bytes: number }> {
  const bytes = await readBytes(request, bytesMax);
  observed()?.bodyRead(bytes.byteLength);
  checkJsonShape(bytes);
  return { json: parseJson(bytes), bytes: bytes.byteLength };
}

/** A body without a declared type is taken as JSON: small clients leave the header out. */
function checkContentType(headers: Headers): void {
  const type = headers.get("content-type");
  if (type !== null && !JSON_TYPE.test(type)) {
    throw new ServiceError(
      "unsupported_media_type",
      "send the body as JSON with content-type: application/json",
    );
  }
  checkContentEncoding(headers);
}

function checkContentEncoding(headers: Headers): void {
  const encoding = headers.get("content-encoding");
  if (encoding !== null && encoding.toLowerCase() !== "identity") {
    throw new ServiceError("unsupported_media_type", "compressed request bodies are not supported");
  }
}

async function readBytes(request: Request, bytesMax: number): Promise<Uint8Array> {
  try {
    return Buffer.concat(await Array.fromAsync(boundedPieces(request, bytesMax)));
  } catch (cause) {
    if (cause instanceof ServiceError) throw cause;
    throw new ServiceError("invalid_request", "the request body ended early; send it again", { cause });
  }
}

/** The parser's own message is dropped: it quotes the body. */
function parseJson(bytes: Uint8Array): unknown {
  try {
    const text = new TextDecoder("utf-8", { fatal: true }).decode(bytes);
    const json: unknown = JSON.parse(text);
    if (MAYBE_HALF.test(text)) checkText(json);
    return json;
  } catch (cause) {
    if (cause instanceof ServiceError) throw cause;
    const problem = bytes.byteLength === 0 ? "is empty" : "is not valid JSON in UTF-8";
    throw new ServiceError("invalid_json", `the request body ${problem}; send a JSON object`, { cause });
  }
}

/** How half of a surrogate pair is written; whole pairs begin like it, so what is found is looked at. */
const MAYBE_HALF = /\\u[dD][89a-fA-F]/;

/** Throws for a text with half of a surrogate pair: it is no character, and no UTF-8 can say it. */
function checkText(json: unknown, path = ""): void {
  if (typeof json === "string" && !json.isWellFormed()) throw halfPair(path);
  if (typeof json !== "object" || json === null) return;
  const isList = Array.isArray(json);
  for (const [key, value] of Object.entries(json)) {
    if (!key.isWellFormed()) throw halfPair(path);
    checkText(value, isList ? `${path}[${key}]` : path === "" ? key : `${path}.${key}`);
  }
}

function halfPair(path: string): ServiceError {
  const param = path.slice(0, PARAM_CHARS_MAX);
  const message = `${param === "" ? "the body" : param} has an unpaired surrogate (\\ud800 to \\udfff); send the pair or omit it`;
  return new ServiceError("invalid_request", message, param === "" ? {} : { param });
}

function isObject(json: unknown): json is Readonly<Record<string, unknown>> {
  return typeof json === "object" && json !== null && !Array.isArray(json);
}
