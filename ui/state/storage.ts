// IndexedDB store of conversations. Summaries are a separate store, so that the list loads without attachments. If the
// browser forbids storage, conversations are lost when the page is closed.

import { type DBSchema, type IDBPDatabase, openDB } from "idb";
import type { Conversation, Draft } from "./conversation.ts";
import { merged } from "./merge.ts";
import { notify } from "./toasts.ts";

export interface Summary {
  readonly id: string;
  readonly title: string;
  readonly updated: number;
}

interface Schema extends DBSchema {
  summaries: { key: string; value: Summary };
  conversations: { key: string; value: Conversation };
  /** Questions that wait for a running answer, by conversation. Since version 2. */
  queued: { key: string; value: Draft };
}

const NAME = "svc";
const STORES = ["summaries", "conversations"] as const;

let opened: Promise<IDBPDatabase<Schema> | undefined> | undefined;

function database(): Promise<IDBPDatabase<Schema> | undefined> {
  return (opened ??= openDB<Schema>(NAME, 2, {
    upgrade: (db, before) => {
      if (before < 1) for (const store of STORES) db.createObjectStore(store, { keyPath: "id" });
      db.createObjectStore("queued");
    },
    blocked: () => notify("Close or reload the other tabs of this page: they are of an older version."),
    blocking: (_, __, { target }) => {
      if (target instanceof IDBDatabase) target.close(); // the newer page waits for it
      notify("A newer version of this page is open in another tab. Reload this tab.");
    },
  }).catch(() => undefined));
}

export async function loadSummaries(): Promise<readonly Summary[]> {
  return (await (await database())?.getAll("summaries")) ?? [];
}

export async function loadConversation(id: string): Promise<Conversation | undefined> {
  return (await database())?.get("conversations", id);
}

/**
 * Saves a conversation together with what other tabs have stored of it: the browser runs one writing transaction at a time, over all
 * tabs. Returns what is stored now. Rejects if the browser's storage is full.
 */
export async function saveConversation(conversation: Conversation): Promise<Conversation> {
  const transaction = (await database())?.transaction(STORES, "readwrite");
  if (transaction === undefined) return conversation;
  const conversations = transaction.objectStore("conversations");
  const stored = await conversations.get(conversation.id);
  const both = stored === undefined ? conversation : merged(stored, conversation);
  const { id, title, updated } = both;
  await transaction.objectStore("summaries").put({ id, title, updated });
  await conversations.put(both);
  await transaction.done;
  return both;
}

/** What a test gives for each stored conversation, by id, where it gives something. */
export async function findConversations<T>(
  test: (conversation: Conversation) => T | undefined,
): Promise<ReadonlyMap<string, T>> {
  const found = new Map<string, T>();
  const store = (await database())?.transaction("conversations").store;
  for (let at = await store?.openCursor(); at; at = await at.continue()) {
    const result = test(at.value);
    if (result !== undefined) found.set(at.key, result);
  }
  return found;
}

export async function deleteConversation(id: string): Promise<void> {
  const transaction = (await database())?.transaction(STORES, "readwrite");
  await transaction?.objectStore("summaries").delete(id);
  await transaction?.objectStore("conversations").delete(id);
  await transaction?.done;
}

export async function loadQueued(id: string): Promise<Draft | undefined> {
  return (await database())?.get("queued", id);
}

/** Changes the queued question of a conversation. */
export async function addQueued(id: string, how: (before: Draft | undefined) => Draft): Promise<void> {
  const transaction = (await database())?.transaction("queued", "readwrite");
  await transaction?.store.put(how(await transaction.store.get(id)), id);
  await transaction?.done;
}

/** Removes the queued question; returns it to one tab only. `shown`: the question where the browser stores nothing. */
export async function removeQueued(id: string, shown: Draft | undefined): Promise<Draft | undefined> {
  const transaction = (await database())?.transaction("queued", "readwrite");
  if (transaction === undefined) return shown;
  const queued = await transaction.store.get(id);
  await transaction.store.delete(id);
  await transaction.done;
  return queued;
}
