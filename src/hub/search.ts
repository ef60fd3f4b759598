// Searches the hub for repositories with GGUF files, and describes one. The API is asked directly: @huggingface/hub has no way to
// ask for what the hub read in GGUF files (architecture, parameters, context).

import { orNull } from "../core/schema-fields.ts";
import { shownAddress } from "../core/shown-address.ts";
import { type Static, Type } from "@sinclair/typebox";
import { Value } from "@sinclair/typebox/value";
import type { HubQuery, HubRepository } from "../core/hub.ts";
import { type HubId, formatRepo } from "../core/hub-id.ts";
import { type HubAccess, hubJson, refusal } from "./api.ts";
import { listCache, revisionOf } from "./cache.ts";
import { HubError } from "./error.ts";
import type { HubPlace } from "./place.ts";

/** What is read of a repository; the hub sends more. */
const ApiRepository = Type.Object({
  id: Type.String(),
  sha: orNull(Type.String()),
  private: orNull(Type.Boolean()),
  gated: orNull(Type.Union([Type.Boolean(), Type.String()])),
  downloads: orNull(Type.Integer({ minimum: 0 })),
  likes: orNull(Type.Integer({ minimum: 0 })),
  lastModified: orNull(Type.String()),
  pipeline_tag: orNull(Type.String()),
  tags: orNull(Type.Array(Type.String())),
  cardData: orNull(Type.Object({ license: orNull(Type.Unknown()) })),
  gguf: orNull(
    Type.Object({
      total: orNull(Type.Integer({ minimum: 0 })),
      architecture: orNull(Type.String()),
      context_length: orNull(Type.Integer({ minimum: 0 })),
    }),
  ),
});
type ApiRepository = Static<typeof ApiRepository>;

const EXPANDED = ["private", "gated", "downloads", "likes", "lastModified", "pipeline_tag", "tags", "gguf"];

const SORTS: Readonly<Record<HubQuery["sort"], string>> = {
  downloads: "downloads",
  likes: "likes",
  updated: "lastModified",
  trending: "trendingScore",
};

/** A repository as the hub describes it. */
export type FoundRepository = Omit<HubRepository, "downloaded">;

/** Repositories with GGUF files, in the order that was asked for, and whether they are on this machine. Throws HubError. */
export async function searchHub(
  query: HubQuery,
  { cacheDir, offline }: Pick<HubPlace, "cacheDir" | "offline">,
  access: HubAccess,
): Promise<readonly HubRepository[]> {
  if (offline) throw new HubError("HF_HUB_OFFLINE forbids the network. Unset it to search.");
  const found = await askHub(query, access);
  const here = new Set(listCache(cacheDir).map(({ repo }) => repo));
  return found.map((one) => ({ ...one, downloaded: here.has(one.id) }));
}

async function askHub(query: HubQuery, access: HubAccess): Promise<readonly FoundRepository[]> {
  const params = new URLSearchParams([
    ...(query.text === "" ? [] : [["search", query.text]]),
    ["filter", "gguf"],
    ["sort", SORTS[query.sort]],
    ["direction", "-1"],
    ["limit", String(query.limit)],
    ...EXPANDED.map((field) => ["expand", field]),
  ]);
  const subject = "the search";
  const json = await hubJson(`/api/models?${params}`, access, subject, (status, secs) => {
    const fix = status === 429 ? "Try again later, or store a token with `svc login`." : "Try again later.";
    return new HubError(
      `${subject}: ${shownAddress(access.endpoint)} answered with status ${status}. ${fix}`,
      "hub_unavailable",
      secs,
    );
  });
  if (!Array.isArray(json))
    throw new HubError(`${subject}: ${shownAddress(access.endpoint)} sent no list. Check HF_ENDPOINT.`);
  return json.flatMap((item: unknown) => (Value.Check(ApiRepository, item) ? [found(item)] : []));
}

/** A repository and the commit of its revision. Throws HubError. */
export async function describeRepository(
  id: HubId,
  access: HubAccess,
): Promise<{ readonly repository: FoundRepository; readonly commit: string }> {
  const params = new URLSearchParams([...EXPANDED, "sha", "cardData"].map((field) => ["expand", field]));
  const path = `/api/models/${id.repo}/revision/${encodeURIComponent(revisionOf(id))}?${params}`;
  const json = await hubJson(path, access, formatRepo(id), (status, secs) =>
    refusal(status, id, { ...access, retryAfterSecs: secs }),
  );
  if (!Value.Check(ApiRepository, json) || !/^[0-9a-f]{40}$/.test(json.sha ?? ""))
    throw new HubError(
      `${shownAddress(access.endpoint)} did not send the commit of ${id.repo}. Try again later.`,
    );
  return { repository: found(json), commit: json.sha ?? "" };
}

function found(item: ApiRepository): FoundRepository {
  const tags = item.tags ?? [];
  const stated = item.cardData?.license;
  const tagged = tags.find((tag) => tag.startsWith("license:"))?.slice("license:".length);
  const isGated = item.gated !== undefined && item.gated !== null && item.gated !== false;
  const updated = Date.parse(item.lastModified ?? "");
  return {
    id: item.id,
    object: "hub.repository",
    access: item.private === true ? "private" : isGated ? "gated" : "public",
    downloads: item.downloads ?? 0,
    likes: item.likes ?? 0,
    updated_at: Number.isNaN(updated) ? 0 : Math.floor(updated / 1000),
    license: tagged ?? (typeof stated === "string" ? stated : null),
    task: item.pipeline_tag ?? null,
    architecture: item.gguf?.architecture ?? null,
    parameters: item.gguf?.total ?? null,
    context_length: item.gguf?.context_length ?? null,
    tags,
  };
}
