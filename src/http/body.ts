// Reads a JSON request body exactly once. Content type, size and syntax are checked here rather than by the framework
// so that every failure is our error object; Bun's own limit answers with an empty body.

import { ServiceError } from "../core/error.ts";
import { REQUEST_BODY_BYTES_MAX } from "../core/limits.ts";
import { bodyPieces } from "./body-pace.ts";
import { checkJsonShape } from "./json-shape.ts";
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
  const { json, bytes } = await readParsed(request, bytesMax);
  if (isObject(json)) {
    observed()?.bodyRead(bytes, json);
    return json;
  }
  throw new ServiceError("invalid_request", "the request body must be a JSON object");
}

/** The request's JSON, whatever it is. Throws as readJsonObject does. */
export async function readJson(
  request: Request,
  bytesMax: number = REQUEST_BODY_BYTES_MAX,
): Promise<unknown> {
  return (await readParsed(request, bytesMax)).json;
}

async function readParsed(
  request: Request,
  bytesMax: number,
): Promise<{ readonly json: unknown; readonly bytes: number }> {
  checkContentType(request.headers);
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
  const encoding = headers.get("content-encoding");
  if (encoding !== null && encoding.toLowerCase() !== "identity") {
    throw new ServiceError("unsupported_media_type", "compressed request bodies are not supported");
  }
}

/**
 * Content-Length is checked first so that an oversized upload is refused before it is read; the HTTP parser holds a
 * body to its declared length. A chunked body declares none, so all are counted as they arrive.
 */
async function readBytes(request: Request, bytesMax: number): Promise<Uint8Array> {
  const declared = request.headers.get("content-length");
  if (declared !== null && Number(declared) > bytesMax) throw bodyTooLarge(bytesMax);
  if (request.body === null) return new Uint8Array();
  try {
    return await readCounted(request.body, bytesMax);
  } catch (cause) {
    if (cause instanceof ServiceError) throw cause;
    throw new ServiceError("invalid_request", "the request body broke off before its end", { cause });
  }
}

async function readCounted(body: ReadableStream<Uint8Array>, bytesMax: number): Promise<Uint8Array> {
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  for await (const chunk of bodyPieces(body)) {
    bytes += chunk.byteLength;
    if (bytes > bytesMax) throw bodyTooLarge(bytesMax); // leaving the loop cancels the body
    chunks.push(chunk);
  }
  return Buffer.concat(chunks, bytes);
}

/** The refusal of a body that is too large. */
export function bodyTooLarge(bytesMax: number): ServiceError {
  return new ServiceError("payload_too_large", `the request body is larger than ${bytesMax} bytes`);
}

/** The parser's own message is dropped: it quotes the body. */
function parseJson(bytes: Uint8Array): unknown {
  try {
    const text = new TextDecoder("utf-8", { fatal: true }).decode(bytes);
    return JSON.parse(text);
  } catch (cause) {
    const problem = bytes.byteLength === 0 ? "is empty" : "is not valid JSON in UTF-8";
    throw new ServiceError("invalid_json", `the request body ${problem}; send a JSON object`, { cause });
  }
}

function isObject(json: unknown): json is Readonly<Record<string, unknown>> {
  return typeof json === "object" && json !== null && !Array.isArray(json);
}
