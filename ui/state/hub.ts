// Models of the hub: what is on this machine, downloads, and the calls that change them.

import { signal } from "@preact/signals";
import type {
  HubDeletedModel,
  HubInstalledModel,
  HubInstalledResponse,
  HubPull,
  HubRepository,
  HubRepositoryDetails,
} from "../../src/core/hub.ts";
import { send, sendForJson, sendIfAvailable } from "../api/client.ts";
import { formatBytes } from "../format.ts";
import { change } from "./conversations.ts";
import { DRAFT } from "./drafts.ts";
import { loadModels } from "./models.ts";
import { setPrefs } from "./prefs.ts";
import { go } from "./route.ts";
import { notify, notifyOf } from "./toasts.ts";
import { t } from "../texts/texts.ts";

/** Interval at which downloads are asked for while one runs, milliseconds. */
const POLL_MS = 1000;

/** Models and disk of the machine; undefined until loaded, null where the server does not let this client change models. */
export const installed = signal<HubInstalledResponse | null | undefined>(undefined);
/** Ids of models whose files were added by their path. */
export const addedFiles = signal<readonly string[]>([]);
/** Downloads since the start of the server, the newest first. */
export const pulls = signal<readonly HubPull[]>([]);

const isActive = ({ status }: HubPull): boolean => status === "downloading" || status === "queued";

let isWatching = false;

/** Loads the models of the machine and the downloads. Throws ApiError. */
export async function loadHub(): Promise<void> {
  const found = await sendIfAvailable<HubInstalledResponse>("v1/hub/models");
  installed.value = found ?? null;
  if (found === undefined) return;
  await Promise.all([loadPulls(), loadAddedFiles()]);
  if (pulls.value.some(isActive)) void watch();
}

interface AddedList {
  readonly data: readonly { readonly id: string }[];
}

async function loadAddedFiles(): Promise<void> {
  const found = await sendIfAvailable<AddedList>("v1/hub/files"); // absent on older servers
  addedFiles.value = found?.data.map(({ id }) => id) ?? [];
}

/** Serves a file of the server's machine; false if the server refuses it, which is said. */
export async function addFile(path: string): Promise<boolean> {
  let id: string | undefined;
  await notifyOf(async () => {
    id = (await sendForJson<{ readonly id: string }>("v1/hub/files", { method: "POST", body: { path } })).id;
    await Promise.all([loadModels(), loadAddedFiles()]);
  });
  const added = id;
  if (added === undefined) return false;
  notify(t.models.ready(added), { label: t.models.useIt, run: () => use(added) });
  return true;
}

/** Serves such a file no more; it stays where it is. */
export async function forgetFile(id: string): Promise<void> {
  await notifyOf(async () => {
    await send("v1/hub/files/forget", { method: "POST", body: { id } });
    notify(t.models.forgotten(id));
    await Promise.all([loadModels(), loadAddedFiles()]);
  });
}

/** Loads the downloads, and reports those that have ended since. */
async function loadPulls(): Promise<void> {
  const { data } = await sendForJson<{ readonly data: readonly HubPull[] }>("v1/hub/pulls");
  const running = new Set(pulls.value.filter(isActive).map(({ id }) => id));
  pulls.value = data;
  for (const pull of data) if (running.has(pull.id)) report(pull);
}

/** Follows downloads until none runs. */
async function watch(): Promise<void> {
  if (isWatching) return;
  isWatching = true;
  try {
    while (pulls.value.some(isActive)) {
      await new Promise((resolve) => setTimeout(resolve, POLL_MS));
      await loadPulls();
    }
  } catch {
    // the server is away; the page loads the downloads again
  } finally {
    isWatching = false;
  }
  await Promise.all([loadModels(), loadHub().catch(() => undefined)]);
}

function report({ model, status, error }: HubPull): void {
  if (status === "failed") notify(`${model}: ${error?.message ?? t.models.downloadFailed}`);
  if (status !== "completed") return;
  notify(t.models.ready(model), { label: t.models.useIt, run: () => use(model) });
}

/** Opens a new conversation with a model. */
export function use(model: string): void {
  setPrefs({ model });
  change(DRAFT, (before) => ({ ...before, model }));
  go({ page: "chat" });
}

/** Starts a download, or resumes a paused one. */
export async function pull(source: string): Promise<void> {
  await notifyOf(async () => {
    const started = await sendForJson<HubPull>("v1/hub/pull", {
      method: "POST",
      body: { source, stream: false },
    });
    pulls.value = [started, ...pulls.value.filter(({ id }) => id !== started.id)];
    if (!isActive(started)) report(started);
    void watch();
  });
}

export async function pausePull(id: string): Promise<void> {
  await notifyOf(async () => {
    await send(`v1/hub/pulls/${id}/pause`, { method: "POST", body: {} });
    await loadPulls();
  });
}

/** Stops a download and deletes what it has downloaded. */
export async function discardPull(id: string): Promise<void> {
  await notifyOf(async () => {
    await send(`v1/hub/pulls/${id}`, { method: "DELETE" });
    await loadHub();
  });
}

/** Deletes a model from this machine. */
export async function deleteModel({ id }: HubInstalledModel): Promise<void> {
  await notifyOf(async () => {
    const { freed_bytes: freed } = await sendForJson<HubDeletedModel>(pathOf(id), { method: "DELETE" });
    notify(t.models.freed(id, formatBytes(freed)));
    await Promise.all([loadHub(), loadModels()]);
  });
}

/** Repositories of the hub with these words in their names. Throws ApiError. */
export async function searchHub(
  words: string,
  sort: string,
  signal: AbortSignal,
): Promise<readonly HubRepository[]> {
  const query = new URLSearchParams({ q: words, sort });
  const { data } = await sendForJson<{ readonly data: readonly HubRepository[] }>(
    `v1/hub/search?${query.toString()}`,
    { signal },
  );
  return data;
}

/** A repository with its models. Throws ApiError. */
export function loadRepository(id: string): Promise<HubRepositoryDetails> {
  return sendForJson<HubRepositoryDetails>(pathOf(id));
}

function pathOf(id: string): string {
  return `v1/hub/models/${id.split("/").map(encodeURIComponent).join("/")}`;
}
