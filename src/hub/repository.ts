// Lists the files of a repository on the hub. @huggingface/hub does requests and paging, with our own fetch: it accepts only
// tokens of one form, and the token must be sent to the hub's own address only.

import { HubApiError, listFiles, modelInfo } from "@huggingface/hub";
import { type HubId, formatRepo } from "../core/hub-id.ts";
import { reasonOf } from "../core/reason.ts";
import { HUB_ANSWER_MS } from "./limits.ts";
import { revisionOf } from "./cache.ts";
import { HubError } from "./error.ts";
import type { HubPlace } from "./place.ts";

/** A file of a repository. */
export interface RepoFile {
  readonly path: string;
  readonly bytes: number;
  /** Content hash, hexadecimal: SHA-256, or git's SHA-1 for small files. */
  readonly hash: string;
}

export interface RepoListing {
  /** The current commit of the revision. */
  readonly commit: string;
  readonly files: readonly RepoFile[];
}

const HASH = /^(?:[0-9a-f]{40}|[0-9a-f]{64})$/;

/** The files of a revision. Throws HubError with a sentence for the operator. */
export async function listRepository(
  { endpoint }: HubPlace,
  id: HubId,
  token: string | undefined,
  signal?: AbortSignal,
): Promise<RepoListing> {
  const access = { hubUrl: endpoint, fetch: hubFetch(endpoint, token, signal) };
  try {
    const info = await modelInfo({
      name: id.repo,
      revision: revisionOf(id),
      additionalFields: ["sha"],
      ...access,
    });
    const commit = info.sha;
    const files: RepoFile[] = [];
    const repo = { type: "model", name: id.repo } as const;
    for await (const entry of listFiles({ repo, revision: commit, recursive: true, ...access })) {
      const hash = entry.lfs?.oid ?? entry.oid;
      if (entry.type !== "file" || !isSafe(entry.path) || hash === undefined || !HASH.test(hash)) continue;
      files.push({ path: entry.path, bytes: entry.size, hash });
    }
    if (!/^[0-9a-f]{40}$/.test(commit))
      throw new HubError(`${endpoint} did not send the commit of ${id.repo}. Try again later.`);
    return { commit, files };
  } catch (error) {
    if (error instanceof HubError || signal?.aborted === true) throw error;
    throw explain(error, id, endpoint, token !== undefined);
  }
}

/** The error of a rejected request, with its fix. */
export function refusal(status: number, id: HubId, endpoint: string, hasToken: boolean): HubError {
  const name = formatRepo(id);
  const login = hasToken
    ? "The token in use has no access."
    : "No token is configured; store one with `svc login`, or set token_source.";
  if (status === 401 && !hasToken) {
    return new HubError(`${name}: ${endpoint} has no such public repository, or requires a token. ${login}`);
  }
  if (status === 401 || status === 403) {
    return new HubError(
      `${name}: access is restricted. Request access at ${endpoint}/${id.repo} with the account of your token. ${login}`,
    );
  }
  if (status === 404) {
    return new HubError(
      `${name}: ${endpoint} has no such repository or revision, and there is no such folder here.`,
    );
  }
  return new HubError(`${name}: ${endpoint} answered with status ${status}. Try again later.`);
}

function explain(error: unknown, id: HubId, endpoint: string, hasToken: boolean): HubError {
  if (error instanceof HubApiError) return refusal(error.statusCode, id, endpoint, hasToken);
  const reason = reasonOf(error);
  const isName = /ENOTFOUND|EAI_AGAIN|getaddrinfo/.test(reason);
  const why = isName ? "no address is known for that name" : reason;
  const fix = "Check the network, or set HF_ENDPOINT to a mirror.";
  return new HubError(`${formatRepo(id)}: ${endpoint} could not be reached (${why}). ${fix}`);
}

/** Adds the token to requests to the hub itself, and a timeout. */
function hubFetch(endpoint: string, token: string | undefined, signal: AbortSignal | undefined) {
  const origin = new URL(endpoint).origin;
  const send = (input: string | URL | Request, init: RequestInit = {}): Promise<Response> => {
    const headers = new Headers(init.headers);
    const url = input instanceof Request ? input.url : String(input);
    if (token !== undefined && new URL(url).origin === origin)
      headers.set("authorization", `Bearer ${token}`);
    const limit = AbortSignal.timeout(HUB_ANSWER_MS);
    return fetch(input, {
      ...init,
      headers,
      signal: signal === undefined ? limit : AbortSignal.any([signal, limit]),
    });
  };
  return Object.assign(send, { preconnect: fetch.preconnect });
}

/** Paths come from the repository and are joined to our cache folder, so they must stay within it. */
function isSafe(path: string): boolean {
  return (
    !path.startsWith("/") &&
    !path.includes("\\") &&
    !path.split("/").some((step) => step === ".." || step === "")
  );
}
