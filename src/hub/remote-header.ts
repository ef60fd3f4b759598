// Headers of GGUF files on the hub, by a request for a part of the file: what a model needs is known before its download.

import { HEADER_BYTES_MAX } from "../core/limits.ts";
import { type GgufHeader, HeaderCut, headerSteps, readFirstFields } from "../core/gguf.ts";
import { compactHeader, withPauses } from "../core/gguf-file.ts";
import { fieldProblem } from "../core/model-problem.ts";
import { fileUrl, getContent, type HubAccess, withinMs } from "./api.ts";
import { HUB_ANSWER_MS, REMOTE_HEADER_BYTES, REMOTE_HEADERS_MAX } from "./limits.ts";

interface RemoteFile {
  readonly repo: string;
  readonly commit: string;
  readonly path: string;
}

/** By commit and path, the oldest first: what a commit holds does not change. */
const known = new Map<string, GgufHeader>();

/**
 * The header of a file; without its tensors where the rest cannot be had. Undefined where the file cannot be read, and for what its
 * load will refuse.
 */
export async function remoteHeader(file: RemoteFile, access: HubAccess): Promise<GgufHeader | undefined> {
  const url = fileUrl(access.endpoint, file);
  const found = known.get(url);
  if (found !== undefined) return found;
  const header = await readRemote(url, access);
  if (header === undefined || fieldProblem(header.fields) !== undefined) return undefined;
  const kept = compactHeader(header);
  if (kept.tensors.size === 0) return kept; // the next look may get all of it
  if (known.size >= REMOTE_HEADERS_MAX) known.delete(known.keys().next().value ?? "");
  known.set(url, kept);
  return kept;
}

async function readRemote(url: string, access: HubAccess): Promise<GgufHeader | undefined> {
  const signal = withinMs(HUB_ANSWER_MS, access.signal);
  const pieces: Uint8Array[] = [];
  try {
    const part = { range: `bytes=0-${HEADER_BYTES_MAX - 1}` };
    const response = await getContent(url, { token: access.token, part, signal });
    if (!response.ok) return undefined;
    let [size, enough] = [0, REMOTE_HEADER_BYTES];
    for await (const piece of response.body ?? []) {
      pieces.push(piece);
      size += piece.byteLength;
      if (size < enough) continue;
      const header = await headerOf(pieces);
      if (header !== "cut") return header; // the end of the loop ends the request
      if (size >= HEADER_BYTES_MAX) break; // a server without ranges sends the whole file
      enough = 4 * size;
    }
    const header = await headerOf(pieces);
    if (header !== "cut") return header;
  } catch {
    access.signal?.throwIfAborted(); // else what has come tells of the model, if not of its tensors
  }
  return firstFields(pieces);
}

/** The header that these bytes begin with; undefined for what is no GGUF file. */
async function headerOf(pieces: readonly Uint8Array[]): Promise<GgufHeader | "cut" | undefined> {
  try {
    return await withPauses(headerSteps(Buffer.concat(pieces)));
  } catch (error) {
    return error instanceof HeaderCut ? "cut" : undefined;
  }
}

function firstFields(pieces: readonly Uint8Array[]): GgufHeader | undefined {
  if (pieces.length === 0) return undefined;
  try {
    return { fields: readFirstFields(Buffer.concat(pieces)), tensors: new Map() };
  } catch {
    return undefined;
  }
}
