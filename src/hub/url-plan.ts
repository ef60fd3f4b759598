// A GGUF file at a plain URL as a plan: kept like a file of a repository that is named after its host and path.

import { hash } from "node:crypto";
import { hubAddress, parseHubId } from "../core/hub-id.ts";
import { partCount } from "../core/model-files.ts";
import { type OpenContent, validatorOf, withinMs } from "./api.ts";
import { HubError } from "./error.ts";
import { type FetchOptions, type FetchPlan, planFetch } from "./fetch-model.ts";
import { HUB_ANSWER_MS } from "./limits.ts";
import type { Companions } from "./plan.ts";

/** What is pulled, as a user says it. */
export interface PullSource {
  /** A name of the hub, the address of a repository or file on it, or a URL. */
  readonly source: string;
  readonly companions: Companions;
  /** Of a URL: the hash that the file must have. */
  readonly sha256?: string | undefined;
}

/** Opens a URL; the caller decides which addresses are permitted. */
export type OpenUrl = (url: string) => OpenContent;

/** The files of a source. Throws HubError. */
export async function planSource(
  { source, companions, sha256 }: PullSource,
  options: FetchOptions,
  openUrl: OpenUrl,
): Promise<FetchPlan> {
  const isUrl = /^https?:\/\//i.test(source);
  const id = isUrl ? hubAddress(source, options.place.endpoint) : parseHubId(source);
  if (id !== undefined) return planFetch(id, companions, options);
  if (isUrl) return planUrl(source, sha256, options, openUrl(source));
  throw new HubError(
    `${JSON.stringify(source.slice(0, 200))} names no repository; send owner/name, such as Qwen/Qwen3-0.6B-GGUF, or the URL of a GGUF file.`,
    "invalid_request",
  );
}

async function planUrl(
  address: string,
  sha256: string | undefined,
  options: FetchOptions,
  open: OpenContent,
): Promise<FetchPlan> {
  const { place, signal } = options;
  if (place.offline) throw new HubError("HF_HUB_OFFLINE forbids the download. Unset it.");
  const url = URL.parse(address);
  const path = plain(url?.pathname.split("/").at(-1) ?? "");
  if (url === null || !/^[\w.-]+\.gguf$/i.test(path))
    throw new HubError(
      "the URL must be the address of one GGUF file: https://…/model.gguf.",
      "invalid_request",
    );
  if (partCount(path) > 1)
    throw new HubError(
      "split files can be pulled from the hub only; merge them with llama-gguf-split.",
      "invalid_request",
    );
  const { bytes, version, validator } = await look(open, signal);
  const commit = hash("sha1", `${address}\n${version}`);
  const repo = repoOf(url);
  const blob = `url-${hash("sha1", `${commit}\n${bytes}`)}`;
  const file = { path, bytes, hash: sha256 ?? "", elsewhere: { open, blob, version: validator } };
  return {
    id: { repo },
    listing: { commit, files: [file] },
    token: undefined,
    model: repo,
    parts: [file],
    adapters: [],
    again: () => planUrl(address, sha256, options, open),
  };
}

/** Size of a file, and what tells it from a later version. */
async function look(
  open: OpenContent,
  signal: AbortSignal | undefined,
): Promise<{ readonly bytes: number; readonly version: string; readonly validator: string | undefined }> {
  const response = await open({ range: "bytes=0-3" }, withinMs(HUB_ANSWER_MS, signal));
  const { status, headers } = response;
  if (status !== 200 && status !== 206) {
    await response.body?.cancel();
    const code = status === 404 || status === 410 ? "hub_model_not_found" : "hub_unavailable";
    throw new HubError(`the server of the URL answered with status ${status}.`, code);
  }
  const start = await firstFour(response);
  if (start !== "GGUF") throw new HubError("the file at the URL is not a GGUF file.", "invalid_request");
  const range = /\/(\d+)$/.exec(headers.get("content-range") ?? "")?.[1];
  const bytes = Number(status === 206 ? range : headers.get("content-length"));
  if (!Number.isSafeInteger(bytes) || bytes < 4)
    throw new HubError("the server of the URL does not say how large the file is.", "invalid_request");
  const version = headers.get("etag") ?? headers.get("last-modified") ?? "";
  return { bytes, version, validator: validatorOf(headers) };
}

async function firstFour({ body }: Response): Promise<string> {
  const pieces: Uint8Array[] = [];
  let size = 0;
  for await (const piece of body ?? []) {
    pieces.push(piece);
    size += piece.byteLength;
    if (size >= 4) break; // a server without ranges sends the whole file
  }
  return Buffer.concat(pieces).toString("latin1", 0, 4);
}

/** `models.example.com/folder-model-Q4_K_M`. */
function repoOf({ host, pathname }: URL): string {
  const path = plain(pathname.replace(/\.gguf$/i, "")).slice(-90);
  const part = (text: string): string => text.replaceAll(/-{2,}/g, "-").replaceAll(/^[-._]+|[-._]+$/g, "");
  return `${part(plain(host))}/${part(path)}`;
}

function plain(text: string): string {
  return text.replaceAll(/%[0-9a-f]{2}|[^A-Za-z0-9._-]/gi, "-");
}
