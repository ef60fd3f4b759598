// Whether the hub has newer revisions of what was downloaded: one question for each repository and branch.

import { formatRepo } from "../core/hub-id.ts";
import { reasonOf } from "../core/reason.ts";
import type { HubAccess } from "./api.ts";
import { listCache } from "./cache.ts";
import { ASKED_AT_ONCE } from "./limits.ts";
import { describeRepository } from "./search.ts";

/** A branch or tag of a repository in the cache. */
export interface LocalRevision {
  readonly repo: string;
  readonly ref: string;
  readonly commit: string;
}

export interface HubRevision extends LocalRevision {
  /** Commit that the hub has; absent where it could not be reached. */
  readonly newest?: string;
  readonly failure?: string;
}

/** Branches and tags in the cache, by repository; a commit alone is pinned and has none. */
export function localRevisions(cacheDir: string): readonly LocalRevision[] {
  const found = new Map<string, LocalRevision>();
  for (const { repo, commit, refs } of listCache(cacheDir, true))
    for (const ref of refs) found.set(`${repo}@${ref}`, { repo, ref, commit });
  return [...found.values()].toSorted((a, b) => a.repo.localeCompare(b.repo) || a.ref.localeCompare(b.ref));
}

/** Asks the hub what it has of each. */
export async function hubRevisions(
  local: readonly LocalRevision[],
  access: HubAccess,
): Promise<readonly HubRevision[]> {
  const found: HubRevision[] = [];
  for (let from = 0; from < local.length; from += ASKED_AT_ONCE) {
    const some = local.slice(from, from + ASKED_AT_ONCE);
    found.push(...(await Promise.all(some.map((one) => asked(one, access)))));
    access.signal?.throwIfAborted();
  }
  return found;
}

async function asked(one: LocalRevision, access: HubAccess): Promise<HubRevision> {
  const id = one.ref === "main" ? { repo: one.repo } : { repo: one.repo, revision: one.ref };
  try {
    const { commit } = await describeRepository(id, access);
    return { ...one, newest: commit };
  } catch (error) {
    return { ...one, failure: `${formatRepo(id)}: ${reasonOf(error)}` };
  }
}
