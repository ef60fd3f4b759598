// Lists the files of a repository on the hub. @huggingface/hub does requests and paging, with our own fetch: it accepts only
// tokens of one form, the token must be sent to the hub's own address only, and a listing has limits.

import { shownAddress } from "../core/shown-address.ts";
import { HubApiError, type ListFileEntry, listFiles } from "@huggingface/hub";
import { type HubId, formatRepo } from "../core/hub-id.ts";
import { visibleLine } from "../core/visible-text.ts";
import { type HubAccess, hubFetch, type OpenContent, refusal, unreachable, withinBytes } from "./api.ts";
import { HubError } from "./error.ts";
import {
  HUB_JSON_BYTES_MAX,
  HUB_PATH_CHARS_MAX,
  LISTING_BYTES_MAX,
  LISTING_FILES_MAX,
  LISTING_MS,
  LISTING_PAGES_MAX,
} from "./limits.ts";
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
  const deadline = AbortSignal.timeout(LISTING_MS);
  const limited = {
    ...access,
    signal: signal === undefined ? deadline : AbortSignal.any([signal, deadline]),
  };
  try {
    const files: RepoFile[] = [];
    const repo = { type: "model", name: id.repo } as const;
    const through = { hubUrl: endpoint, fetch: listingFetch(limited, formatRepo(id)) };
    for await (const entry of listFiles({ repo, revision: commit, recursive: true, ...through })) {
      const file = fileOf(entry, id);
      if (file !== undefined) files.push(file);
      if (files.length > LISTING_FILES_MAX)
        throw new HubError(
          `${formatRepo(id)} has more than ${LISTING_FILES_MAX} files. Name a single file by its URL.`,
        );
    }
    return { repository, commit, files };
  } catch (error) {
    if (deadline.aborted)
      throw new HubError(
        `${formatRepo(id)}: ${shownAddress(endpoint)} took longer than ${LISTING_MS / 1000} s to list its files. Try again later.`,
      );
    if (error instanceof HubError || signal?.aborted === true) throw error;
    if (error instanceof HubApiError) throw refusal(error.statusCode, id, access);
    throw unreachable(error, formatRepo(id), endpoint);
  }
}

/** Pages of a listing: of the hub alone, each once, within limits. */
function listingFetch(access: HubAccess, name: string): ReturnType<typeof hubFetch> {
  const send = hubFetch(access);
  const { origin } = new URL(access.endpoint);
  const seen = new Set<string>();
  const budget = { left: LISTING_BYTES_MAX };
  return Object.assign(
    async (input: string | URL | Request, init?: RequestInit) => {
      const url = input instanceof Request ? input.url : String(input);
      if (new URL(url).origin !== origin)
        throw new HubError(`${name}: the list of its files goes on at another server. Check HF_ENDPOINT.`);
      if (seen.has(url) || seen.size >= LISTING_PAGES_MAX)
        throw new HubError(`${name}: the list of its files does not end. Check HF_ENDPOINT.`);
      seen.add(url);
      const page = withinBytes(await send(input, init), budget, name);
      return withinBytes(page, { left: HUB_JSON_BYTES_MAX }, name);
    },
    { preconnect: send.preconnect },
  );
}

/** What is listed is what any server may say; undefined for what is no file that can be kept. */
function fileOf({ type, path, size, oid, lfs }: ListFileEntry, id: HubId): RepoFile | undefined {
  const hash: unknown = lfs?.oid ?? oid;
  if (type !== "file" || typeof path !== "string" || !isSafe(path)) return undefined;
  if (typeof hash !== "string" || !HASH.test(hash)) return undefined;
  if (Number.isSafeInteger(size) && size >= 0) return { path, bytes: size, hash };
  throw new HubError(
    `${formatRepo(id)}: the hub states an impossible size for ${visibleLine(path)}. Try again later.`,
  );
}

/** Paths come from the repository and are joined to our cache folder, so they must stay within it. */
function isSafe(path: string): boolean {
  return (
    path.length <= HUB_PATH_CHARS_MAX &&
    !/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/u.test(path) && // of no file system, or obeyed by terminals
    !path.startsWith("/") &&
    !path.includes("\\") &&
    !path.split("/").some((step) => step === ".." || step === "")
  );
}
