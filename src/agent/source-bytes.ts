// Bytes of a file in a request: inline base64, or fetched from a public URL.

import { createHash } from "node:crypto";
import type { Caller } from "../core/caller.ts";
import { invalidField, ServiceError } from "../core/error.ts";

/** Fetches a URL. Throws a FetchError whose message may be sent to the client. */
export type FetchFile = (
  url: string,
  options: { readonly bytesMax: number },
  signal: AbortSignal,
) => Promise<SourceBytes>;

export interface SourceBytes {
  readonly mimeType?: string;
  readonly pieces: readonly Uint8Array<ArrayBuffer>[];
}

/** Field of the request, for errors, and size limit. */
export interface SourceBounds {
  readonly param: string;
  readonly bytesMax: number;
}

const DATA_URL = /^data:(?<mimeType>[^,;]*)(?<parameters>(?:;[^,;]*)*),/i;

/** Base64, alone or in a data URL. Throws `invalid_request`, `payload_too_large`. */
export function decodeInline(data: string, { param, bytesMax }: SourceBounds): SourceBytes {
  const header = data.slice(0, 1024).match(DATA_URL);
  const base64 = header === null ? data : data.slice(header[0].length);
  const parameters = header?.groups?.["parameters"] ?? ";base64";
  if (!/;\s*base64$/i.test(parameters))
    throw invalidField(param, "must be a base64 data URL: data:TYPE;base64,…");
  if (base64.length > (bytesMax / 3) * 4 + 4) throw tooLarge(param, bytesMax);
  const mimeType = header?.groups?.["mimeType"]?.toLowerCase() ?? "";
  let bytes: Uint8Array<ArrayBuffer>;
  try {
    bytes = Uint8Array.fromBase64(base64, { alphabet: /[-_]/.test(base64) ? "base64url" : "base64" });
  } catch (cause) {
    throw invalidField(param, "must be base64, alone or in a data URL", cause);
  }
  if (bytes.byteLength > bytesMax) throw tooLarge(param, bytesMax);
  return { ...(mimeType === "" ? {} : { mimeType }), pieces: [bytes] };
}

/** Fetches a URL. Throws `invalid_request` with the reason of a failure. */
export async function fetched(
  fetchFile: FetchFile,
  url: string,
  { param, bytesMax }: SourceBounds,
  signal: AbortSignal,
): Promise<SourceBytes> {
  try {
    return await fetchFile(url, { bytesMax }, signal);
  } catch (cause) {
    const reason = cause instanceof Error && cause.name === "FetchError" ? cause.message : "internal error";
    throw invalidField(param, `could not be fetched: ${reason}`, cause);
  }
}

/** The bytes in one array. */
export function joined(pieces: readonly Uint8Array<ArrayBuffer>[]): Uint8Array<ArrayBuffer> {
  const [only, ...others] = pieces;
  return only !== undefined && others.length === 0 ? only : Buffer.concat(pieces);
}

/** Content-derived id: clients resend a file with every turn; it is stored once, and the prompt that names it stays the same. */
export function repeatableId(of: string | Caller, name: string, pieces: readonly Uint8Array[]): string {
  const whose = typeof of === "string" ? of : { owner: of.owner };
  const hash = createHash("sha256").update(JSON.stringify([whose, name]));
  for (const piece of pieces) hash.update(piece);
  return `file-${hash.digest("hex").slice(0, 32)}`;
}

/** Error for a file id that is unknown or expired. */
export function unknownFile(id: string, param: string): ServiceError {
  const message = `${param}: file ${JSON.stringify(id.slice(0, 64))} was not found; files expire after 30 minutes`;
  return new ServiceError("file_not_found", message, { param });
}

function tooLarge(param: string, bytesMax: number): ServiceError {
  return new ServiceError("payload_too_large", `${param} is larger than ${bytesMax} bytes`, { param });
}
