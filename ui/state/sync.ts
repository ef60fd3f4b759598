// Keeps conversations on the server, too, where it is set up for that (ui_history = "server"), so that they follow a person to another
// browser. The server compares versions; this page merges.

import { signal } from "@preact/signals";
import { Value } from "@sinclair/typebox/value";
import type { HistoryItem } from "../../src/core/history.ts";
import { ApiError, sendForJson, sendIfAvailable } from "../api/client.ts";
import { Conversation, restored } from "./conversation.ts";
import { conversationOf, forget, receive, summaries, whenStored } from "./conversations.ts";
import { isRunning } from "./running.ts";
import { loadConversation } from "./storage.ts";
import { notify } from "./toasts.ts";
import { t } from "../texts/texts.ts";

/** Time between two looks at the server's list, milliseconds. */
const POLL_MS = 15_000;
/** Delay of an upload after a change: of a quiet conversation, and while its answer runs, milliseconds. */
const UPLOAD_MS = 1500;
const RUNNING_UPLOAD_MS = 30_000;
/** Attempts at an upload that other browsers are faster than. */
const ATTEMPTS_MAX = 5;

const KEY = "svc.synced";

/** What this browser knows of a conversation on the server. */
interface Known {
  /** 0: the server has none. */
  readonly version: number;
  /** When its last question of that version was asked: a later one outweighs a deletion elsewhere. */
  readonly updated?: number;
  /** What the server does not have yet. */
  readonly pending?: "change" | "deletion";
}

const uploads = new Map<string, ReturnType<typeof setTimeout>>();
let line: Promise<unknown> = Promise.resolve();
let hasToldSize = false;

/** Whether the server keeps conversations; undefined before it has said so. */
export const keepsHistory = signal<boolean | undefined>(undefined);

let isStarted = false;

/** Compares with the server at once, if the exchange has started. */
export function syncNow(): void {
  if (isStarted) void inLine(compare).catch(() => undefined); // the next look may succeed
}

/** Starts where the server keeps conversations; else does nothing. */
export function startSync(): void {
  isStarted = true;
  whenStored((id, isDeleted) => {
    note(id, { ...known(id), pending: isDeleted ? "deletion" : "change" });
    if (keepsHistory.value === false) return;
    clearTimeout(uploads.get(id));
    const ms = isRunning(id) ? RUNNING_UPLOAD_MS : UPLOAD_MS;
    uploads.set(
      id,
      setTimeout(() => void inLine(() => upload(id)).catch(() => undefined), ms),
    );
  });
  const lookAgain = (): void => {
    if (!document.hidden && keepsHistory.value !== false) syncNow();
  };
  setInterval(lookAgain, POLL_MS);
  document.addEventListener("visibilitychange", lookAgain);
  syncNow();
}

/** Removes conversations from this browser that the server has whole; they are deleted nowhere else. */
export function withdraw(): Promise<void> {
  return inLine(async () => {
    for (const id of Object.keys(all())) {
      const { version, pending } = known(id);
      if (version === 0 || pending !== undefined) continue;
      await forget(id);
      note(id, undefined);
    }
  });
}

/** One piece of work after the other: they change the same conversations. */
function inLine(work: () => Promise<void>): Promise<void> {
  const done = line.then(work, work);
  line = done.catch(() => undefined);
  return done;
}

/** Compares the server's list with this browser's, and exchanges what differs. */
async function compare(): Promise<void> {
  const list = await listed();
  if (list === undefined) return;
  for (const item of list.values()) {
    const { version, pending } = known(item.id);
    if (version !== item.version && pending !== "deletion") await take(item, pending === "change");
  }
  for (const id of new Set([...summaries.value.map((one) => one.id), ...Object.keys(all())])) {
    if (!list.has(id) && known(id).pending !== "deletion") note(id, { version: 0, pending: "change" });
    if (known(id).pending !== undefined && !isRunning(id)) await upload(id);
  }
}

/** The server's list; undefined where it keeps none. */
async function listed(): Promise<ReadonlyMap<string, HistoryItem> | undefined> {
  const found = await sendIfAvailable<{ readonly conversations: readonly HistoryItem[] | null }>(
    "ui/history",
  );
  const list = found?.conversations ?? undefined;
  keepsHistory.value = list !== undefined;
  return list && new Map(list.map((item) => [item.id, item]));
}

/** Takes the server's version of a conversation, merged with what was changed here. */
async function take({ id, version, isDeleted }: HistoryItem, isChanged: boolean): Promise<void> {
  const { updated } = known(id);
  const isAsked = isChanged && summaries.value.find((one) => one.id === id)?.updated !== updated;
  if (isDeleted && !isAsked) {
    await forget(id);
    return note(id, { version });
  }
  const theirs = isDeleted ? undefined : await content(id);
  if (known(id).pending === "deletion") return; // deleted meanwhile
  if (theirs !== undefined) await receive(theirs, isChanged);
  note(id, { version, ...(theirs && { updated: theirs.updated }), ...(isChanged && { pending: "change" }) });
}

async function content(id: string): Promise<Conversation | undefined> {
  const found = await sendIfAvailable<unknown>(`ui/history/${id}`);
  return Value.Check(Conversation, found) ? restored(found) : undefined;
}

/** Sends a conversation or its deletion to the server. */
async function upload(id: string): Promise<void> {
  clearTimeout(uploads.get(id));
  for (let attempt = 0; attempt < ATTEMPTS_MAX; attempt++) {
    if (known(id).pending === "deletion") {
      await sendIfAvailable(`ui/history/${id}`, { method: "DELETE" });
      return note(id, undefined);
    }
    const conversation = conversationOf(id) ?? (await loadConversation(id));
    if (known(id).pending === "deletion") continue; // deleted meanwhile
    if (conversation === undefined) return note(id, undefined);
    const { version } = known(id);
    const { updated } = conversation;
    note(id, { version, updated }); // a change from now on is another one
    try {
      const path = `ui/history/${id}?version=${version}`;
      const item = await sendForJson<HistoryItem>(path, { method: "PUT", body: conversation });
      const { pending } = known(id);
      return note(id, { version: item.version, updated, ...(pending && { pending }) });
    } catch (error) {
      note(id, { version, updated, pending: known(id).pending ?? "change" });
      if (!(error instanceof ApiError) || error.code !== "version_mismatch") return tell(error);
    }
    const item = (await listed())?.get(id);
    if (item === undefined) note(id, { version: 0, pending: known(id).pending ?? "change" });
    else await take(item, true);
  }
}

/** A conversation that is too large would be so each time; everything else is tried again. */
function tell(error: unknown): void {
  if (hasToldSize || !(error instanceof ApiError) || error.status !== 413) return;
  hasToldSize = true;
  notify(t.errors.notSynced(error.message));
}

function known(id: string): Known {
  return all()[id] ?? { version: 0 };
}

function note(id: string, what: Known | undefined): void {
  const { [id]: _, ...others } = all();
  try {
    localStorage.setItem(KEY, JSON.stringify(what === undefined ? others : { ...others, [id]: what }));
  } catch {
    // storage is forbidden, so there is nothing to compare after a reload
  }
}

function all(): Readonly<Record<string, Known>> {
  try {
    return JSON.parse(localStorage.getItem(KEY) ?? "{}") as Readonly<Record<string, Known>>;
  } catch {
    return {}; // storage is forbidden or has invalid content
  }
}
