// Whether the hub has newer revisions of what was downloaded: one question for each repository and branch.

import { CATALOGUE_ENTRIES, type CatalogueEntry } from "../core/catalogue.ts";
import { formatRepo } from "../core/hub-id.ts";
import { reasonOf } from "../core/reason.ts";
import type { HubAccess } from "./api.ts";
import { listCache } from "./cache.ts";
import { ASKED_AT_ONCE } from "./limits.ts";
import { describeRepository } from "./search.ts";

/** A branch or tag of a repository in the cache, or a commit that a name of the catalogue has meant. */
export interface LocalRevision {
  readonly repo: string;
  /** Branch, tag, or the name. */
  readonly ref: string;
  readonly commit: string;
  /** What the name means in this release; the hub is not asked. */
  readonly named?: string;
}

export interface HubRevision extends LocalRevision {
  /** Commit that the hub has; absent where it could not be reached. */
  readonly newest?: string;
  readonly failure?: string;
}

/** Branches and tags in the cache, by repository; a commit alone is pinned and has none, unless the catalogue names its repository. */
export function localRevisions(
  cacheDir: string,
  entries: readonly CatalogueEntry[] = CATALOGUE_ENTRIES,
): readonly LocalRevision[] {
  const found = new Map<string, LocalRevision>();
  const cached = listCache(cacheDir, true);
  for (const { repo, commit, refs } of cached)
    for (const ref of refs) found.set(`${repo}@${ref}`, { repo, ref, commit });
  for (const { name: ref, repo, revision: named } of entries) {
    const own = cached.filter((file) => file.repo === repo && file.refs.length === 0);
    const commit = own.find((file) => file.commit === named)?.commit ?? own[0]?.commit;
    if (named !== undefined && commit !== undefined) found.set(ref, { repo, ref, commit, named });
  }
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
  if (one.named !== undefined) return { ...one, newest: one.named };
  const id = one.ref === "main" ? { repo: one.repo } : { repo: one.repo, revision: one.ref };
  try {
    const { commit } = await describeRepository(id, access);
    return { ...one, newest: commit };
  } catch (error) {
    return { ...one, failure: `${formatRepo(id)}: ${reasonOf(error)}` };
  }
}
