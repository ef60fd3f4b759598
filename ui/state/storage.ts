// IndexedDB store of conversations, by message: a save writes what has changed, and a tab reads what another one has changed.
// Summaries are a separate store, so that the list loads without messages. If the browser forbids storage, conversations are lost
// when the page is closed.

import { type DBSchema, type IDBPDatabase, type IDBPTransaction, openDB, type StoreNames } from "idb";
import type { Conversation, Draft, Message } from "./conversation.ts";
import { merged } from "./merge.ts";
import { notify } from "./toasts.ts";
import { t } from "../texts/texts.ts";

/** What the list shows of a conversation. */
export type Summary = Pick<Conversation, "id" | "title" | "updated" | "pinned" | "tags" | "folder">;

export function summaryOf(conversation: Conversation): Summary {
  const { id, title, updated, pinned = false, tags = [], folder } = conversation;
  return { id, title, updated, pinned, tags, ...(folder === undefined ? {} : { folder }) };
}

/** Names of all folders. */
export function foldersOf(summaries: readonly Summary[]): readonly string[] {
  return [...new Set(summaries.flatMap(({ folder }) => folder ?? []))].toSorted((a, b) => a.localeCompare(b));
}

/** A conversation without its messages. */
interface Head extends Omit<Conversation, "messages"> {
  /** Ids of the messages, in order. */
  readonly order: readonly string[];
}

interface Schema extends DBSchema {
  summaries: { key: string; value: Summary };
  conversations: { key: string; value: Head };
  /** By conversation and message. Since version 3; before, conversations had their messages. */
  messages: { key: [string, string]; value: Message };
  /** Questions that wait for a running answer, by conversation. Since version 2. */
  queued: { key: string; value: Draft };
}

const NAME = "svc";
const VERSION = 3;
const STORES = ["summaries", "conversations", "messages"] as const;

type Transaction = IDBPTransaction<Schema, ["summaries", "conversations", "messages"], "readwrite">;

let opened: Promise<IDBPDatabase<Schema> | undefined> | undefined;

/** Messages that are stored as this tab has them. */
const saved = new WeakSet<Message>();

function database(): Promise<IDBPDatabase<Schema> | undefined> {
  return (opened ??= openDB<Schema>(NAME, VERSION, {
    upgrade: (db, before, _, transaction) => {
      if (before < 1)
        for (const store of ["summaries", "conversations"] as const)
          db.createObjectStore(store, { keyPath: "id" });
      if (before < 2) db.createObjectStore("queued");
      db.createObjectStore("messages");
      splitConversations(transaction).catch(() => transaction.abort()); // the data stay as they were
    },
    blocked: () => notify(t.errors.olderTabs),
    blocking: (_, __, { target }) => {
      if (target instanceof IDBDatabase) target.close(); // the newer page waits for it
      notify(t.errors.newerTab);
    },
  }).catch(() => undefined));
}

/** Moves the messages of conversations, as versions 1 and 2 stored them, to their own store. */
async function splitConversations(
  transaction: IDBPTransaction<Schema, StoreNames<Schema>[], "versionchange">,
): Promise<void> {
  const store = transaction.objectStore("messages");
  let at = await transaction.objectStore("conversations").openCursor();
  for (; at !== null; at = await at.continue()) {
    const { messages, ...conversation } = at.value as unknown as Conversation;
    await at.update({ ...conversation, order: messages.map(({ id }) => id) });
    for (const message of messages) await store.put(message, [conversation.id, message.id]);
  }
}

export async function loadSummaries(): Promise<readonly Summary[]> {
  return (await (await database())?.getAll("summaries")) ?? [];
}

/** A stored conversation. Messages that are `known` are not read again. */
export async function loadConversation(
  id: string,
  known: ReadonlyMap<string, Message> = new Map(),
): Promise<Conversation | undefined> {
  const transaction = (await database())?.transaction(["conversations", "messages"]);
  const head = await transaction?.objectStore("conversations").get(id);
  if (transaction === undefined || head === undefined) return undefined;
  const store = transaction.objectStore("messages");
  const { order, ...conversation } = head;
  if (known.size === 0) {
    const [keys, messages] = await Promise.all([store.getAllKeys(rangeOf(id)), store.getAll(rangeOf(id))]);
    known = new Map(messages.map((message, i) => [keys[i]?.[1] ?? message.id, message]));
    for (const message of messages) saved.add(message);
  }
  const messages = await Promise.all(
    order.map(async (one) => known.get(one) ?? readMessage(store, [id, one])),
  );
  return { ...conversation, messages: messages.filter((message) => message !== undefined) };
}

/**
 * Saves the changed messages of a conversation together with what other tabs have stored of it: the browser runs one writing
 * transaction at a time, over all tabs. Returns what is stored now, and the ids of the messages that this tab has changed. Rejects if
 * the browser's storage is full.
 */
export async function saveConversation(
  conversation: Conversation,
): Promise<{ readonly stored: Conversation; readonly changed: readonly string[] }> {
  const transaction = (await database())?.transaction(STORES, "readwrite");
  if (transaction === undefined) return { stored: conversation, changed: [] };
  const theirs = await theirsOf(transaction, conversation);
  const both = theirs === undefined ? conversation : merged(theirs, conversation);
  const { messages, ...head } = both;
  const { id } = both;
  await transaction.objectStore("summaries").put(summaryOf(both));
  await transaction.objectStore("conversations").put({ ...head, order: messages.map((one) => one.id) });
  const changed = messages.filter((message) => !saved.has(message));
  for (const message of changed) await transaction.objectStore("messages").put(message, [id, message.id]);
  await transaction.done;
  for (const message of changed) saved.add(message);
  return { stored: both, changed: changed.map((message) => message.id) };
}

/** What is stored of a conversation; messages that this tab has not changed are its own. */
async function theirsOf(
  transaction: Transaction,
  { id, messages }: Conversation,
): Promise<Conversation | undefined> {
  const head = await transaction.objectStore("conversations").get(id);
  if (head === undefined) return undefined;
  const unchanged = new Map(messages.filter((one) => saved.has(one)).map((one) => [one.id, one]));
  const store = transaction.objectStore("messages");
  const { order, ...conversation } = head;
  const theirs = await Promise.all(
    order.map(async (one) => unchanged.get(one) ?? readMessage(store, [id, one])),
  );
  return { ...conversation, messages: theirs.filter((message) => message !== undefined) };
}

interface MessageStore {
  get(key: [string, string]): Promise<Message | undefined>;
}

async function readMessage(store: MessageStore, key: [string, string]): Promise<Message | undefined> {
  const message = await store.get(key);
  if (message !== undefined) saved.add(message);
  return message;
}

/** The keys of a conversation's messages. */
function rangeOf(id: string): IDBKeyRange {
  return IDBKeyRange.bound([id], [id, []]); // an array is greater than every string
}

/** What a test gives for each stored conversation, by id, where it gives something. */
export async function findConversations<T>(
  test: (conversation: Conversation) => T | undefined,
): Promise<ReadonlyMap<string, T>> {
  const found = new Map<string, T>();
  for (const id of (await (await database())?.getAllKeys("conversations")) ?? []) {
    const conversation = await loadConversation(id);
    const result = conversation === undefined ? undefined : test(conversation);
    if (result !== undefined) found.set(id, result);
  }
  return found;
}

export async function deleteConversation(id: string): Promise<void> {
  const transaction = (await database())?.transaction(STORES, "readwrite");
  await transaction?.objectStore("summaries").delete(id);
  await transaction?.objectStore("conversations").delete(id);
  await transaction?.objectStore("messages").delete(rangeOf(id));
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
