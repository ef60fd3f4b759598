// Reads a JSON request body exactly once. Content type, size and syntax are checked here rather than by the framework
// so that every failure is svc's error object; Bun's own limit answers with an empty body.

import { ServiceError } from "../core/error.ts";
import { isObject } from "../core/json.ts";
import { JSON_BYTES_AT_ONCE, REQUEST_BODY_BYTES_MAX } from "./limits.ts";
import { boundedPieces } from "./body-pace.ts";
import { parseAside } from "./body-thread.ts";
import { parseText, readText } from "./json-body.ts";
import { observed } from "./observe.ts";

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
  const { json, bytes } = await readParsed(request, bytesMax);
  if (isObject(json)) observed()?.bodyRead(bytes, json);
  return json;
}

async function readParsed(
  request: Request,
  bytesMax: number,
): Promise<{ readonly json: unknown; readonly bytes: number }> {
  const bytes = await readBytes(request, bytesMax);
  observed()?.bodyRead(bytes.byteLength);
  const { byteLength } = bytes;
  const json = byteLength > JSON_BYTES_AT_ONCE ? await parseAside(bytes) : parseText(readText(bytes).text);
  return { json, bytes: byteLength };
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

async function readBytes(request: Request, bytesMax: number): Promise<Uint8Array<ArrayBuffer>> {
  try {
    return Buffer.concat(await Array.fromAsync(boundedPieces(request, bytesMax)));
  } catch (cause) {
    if (cause instanceof ServiceError) throw cause;
    throw new ServiceError("invalid_request", "the request body ended early; send it again", { cause });
  }
}
