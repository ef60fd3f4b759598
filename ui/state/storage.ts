// IndexedDB store of conversations. Summaries are a separate store, so that the list loads without attachments. If the
// browser forbids storage, conversations are lost when the page is closed.

import { type DBSchema, type IDBPDatabase, openDB } from "idb";
import type { Conversation } from "./conversation.ts";
import { merged } from "./merge.ts";

export interface Summary {
  readonly id: string;
  readonly title: string;
  readonly updated: number;
}

interface Schema extends DBSchema {
  summaries: { key: string; value: Summary };
  conversations: { key: string; value: Conversation };
}

const NAME = "svc";
const STORES = ["summaries", "conversations"] as const;

let opened: Promise<IDBPDatabase<Schema> | undefined> | undefined;

function database(): Promise<IDBPDatabase<Schema> | undefined> {
  return (opened ??= openDB<Schema>(NAME, 1, {
    upgrade: (db) => {
      for (const store of STORES) db.createObjectStore(store, { keyPath: "id" });
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
