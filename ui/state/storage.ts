// IndexedDB store of conversations. Summaries are a separate store, so that the list loads without attachments. If the
// browser forbids storage, conversations are lost when the page is closed.

import { type DBSchema, type IDBPDatabase, openDB } from "idb";
import type { Conversation } from "./conversation.ts";

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

/** Rejects if the browser's storage is full. */
export async function saveConversation(conversation: Conversation): Promise<void> {
  const { id, title, updated } = conversation;
  const transaction = (await database())?.transaction(STORES, "readwrite");
  await transaction?.objectStore("summaries").put({ id, title, updated });
  await transaction?.objectStore("conversations").put(conversation);
  await transaction?.done;
}

export async function deleteConversation(id: string): Promise<void> {
  const transaction = (await database())?.transaction(STORES, "readwrite");
  await transaction?.objectStore("summaries").delete(id);
  await transaction?.objectStore("conversations").delete(id);
  await transaction?.done;
}
