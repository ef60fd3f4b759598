// Lists the files of a repository on the hub. @huggingface/hub does requests and paging, with our own fetch: it accepts only
// tokens of one form, and the token must be sent to the hub's own address only.

import { HubApiError, listFiles } from "@huggingface/hub";
import { type HubId, formatRepo } from "../core/hub-id.ts";
import { type HubAccess, hubFetch, type OpenContent, refusal, unreachable } from "./api.ts";
import { HubError } from "./error.ts";
import { describeRepository, type FoundRepository } from "./search.ts";

/** A file of a repository. */
export interface RepoFile {
  readonly path: string;
  readonly bytes: number;
  /** Content hash, hexadecimal: SHA-256, or git's SHA-1 for small files. */
  readonly hash: string;
  /** Of a URL. */
  readonly elsewhere?: Elsewhere;
}

/** A content that is not on the hub. */
export interface Elsewhere {
  readonly open: OpenContent;
  /** Name of the content where its hash is unknown. */
  readonly blob: string;
  /** Of this version of the content, as `validatorOf` reads it. */
  readonly version: string | undefined;
}

export interface RepoListing {
  readonly repository: FoundRepository;
  /** The current commit of the revision. */
  readonly commit: string;
  readonly files: readonly RepoFile[];
}

const HASH = /^(?:[0-9a-f]{40}|[0-9a-f]{64})$/;

/** The files of a revision. Throws HubError with a sentence for the operator. */
export async function listRepository(id: HubId, access: HubAccess): Promise<RepoListing> {
  const { endpoint, signal } = access;
  const { repository, commit } = await describeRepository(id, access);
  try {
    const files: RepoFile[] = [];
    const repo = { type: "model", name: id.repo } as const;
    const through = { hubUrl: endpoint, fetch: hubFetch(access) };
    for await (const entry of listFiles({ repo, revision: commit, recursive: true, ...through })) {
      const hash = entry.lfs?.oid ?? entry.oid;
      if (entry.type !== "file" || !isSafe(entry.path) || hash === undefined || !HASH.test(hash)) continue;
      files.push({ path: entry.path, bytes: entry.size, hash });
    }
    return { repository, commit, files };
  } catch (error) {
    if (error instanceof HubError || signal?.aborted === true) throw error;
    if (error instanceof HubApiError) throw refusal(error.statusCode, id, access);
    throw unreachable(error, formatRepo(id), endpoint);
  }
}

/** Paths come from the repository and are joined to our cache folder, so they must stay within it. */
function isSafe(path: string): boolean {
  return (
    !path.startsWith("/") &&
    !path.includes("\\") &&
    !path.split("/").some((step) => step === ".." || step === "")
  );
}
