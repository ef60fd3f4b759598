// Owner of the open conversations and of the list of all. All changes of a conversation go through `change`.

import { computed, signal } from "@preact/signals";
import { messageOf } from "../api/client.ts";
import { saveFile } from "../save-file.ts";
import { type Conversation, restored, type Settings } from "./conversation.ts";
import { merged } from "./merge.ts";
import { DRAFT, dropDraft, refreshQueued } from "./drafts.ts";
import { prefs, setPrefs } from "./prefs.ts";
import { newId } from "./new-id.ts";
import { go, route } from "./route.ts";
import { isRunning, noted } from "./running.ts";
import {
  deleteConversation,
  loadConversation,
  loadSummaries,
  saveConversation,
  type Summary,
  summaryOf,
} from "./storage.ts";
import { notify } from "./toasts.ts";
import { emptyConversation, type ExportParts, exportText } from "./transfer.ts";
import { dropUnsaved, keepUnsaved, unsaved } from "./unsaved.ts";
import { t } from "../texts/texts.ts";

/** Longest delay between a change and its save, milliseconds. */
const SAVE_MS = 1000;

/** Summaries of all conversations, latest first. */
export const summaries = signal<readonly Summary[]>([]);
const open = signal<ReadonlyMap<string, Conversation>>(new Map());

/** The shown conversation; undefined while it is loaded and on other pages. */
export const current = computed(() => {
  const at = route.value;
  return at.page === "chat" ? open.value.get(at.id ?? DRAFT) : undefined;
});

/** Called with each conversation that was loaded, or that another tab has changed. */
let onNews: (conversation: Conversation, from: "storage" | "tab") => void = () => undefined;

/** Called with each conversation that this tab has saved or deleted. */
let onStored: (id: string, isDeleted: boolean) => void = () => undefined;

/** What tabs tell each other. */
interface News {
  readonly id: string;
  /** Ids of messages. */
  readonly changed: readonly string[];
}

const timers = new Map<string, ReturnType<typeof setTimeout>>();
/** Saves of each conversation that have begun and not ended. */
const saving = new Map<string, number>();
/** Conversations that could not be stored. */
const unstored = new Set<string>();
const channel = new BroadcastChannel("svc");

/** Loads the list and the conversations with running answers, and subscribes to changes of other tabs. */
export async function startConversations(listener: typeof onNews): Promise<void> {
  onNews = listener;
  resetDraft();
  channel.addEventListener("message", ({ data }: MessageEvent<News>) => {
    void refresh(data);
  });
  addEventListener("pagehide", () => {
    for (const id of new Set([...timers.keys(), ...saving.keys()])) {
      const left = open.value.get(id);
      if (left !== undefined) keepUnsaved(left);
    }
    for (const id of timers.keys()) void save(id);
  });
  await storeUnsaved();
  summaries.value = sorted(await loadSummaries());
  for (const id of noted()) await openConversation(id);
}

/** Stores what pages that were left had not stored. */
async function storeUnsaved(): Promise<void> {
  for (const { key, conversation } of unsaved()) {
    try {
      const { changed } = await saveConversation(conversation);
      dropUnsaved(conversation.id, key);
      notifyTabs(conversation.id, changed);
    } catch {
      // the browser's storage is full: it stays for the next start
    }
  }
}

/** Sets what is called with each conversation that this tab has saved or deleted. */
export function whenStored(listener: typeof onStored): void {
  onStored = listener;
}

export function conversationOf(id: string): Conversation | undefined {
  return open.value.get(id);
}

/** Loads a conversation into memory. False if it does not exist. */
export async function openConversation(id: string): Promise<boolean> {
  if (open.value.has(id)) return true;
  const found = await loadConversation(id);
  if (found === undefined) return false;
  await refreshQueued(id);
  if (open.value.has(id)) return true;
  putOpen(restored(found));
  onNews(found, "storage");
  return true;
}

/** Changes an open conversation and schedules a save. */
export function change(id: string, how: (conversation: Conversation) => Conversation): void {
  const before = open.value.get(id);
  if (before === undefined) return;
  const after = how(before);
  putOpen(after);
  if (id === DRAFT) return;
  const summary = summaryOf(after);
  if (JSON.stringify(summaryOf(before)) !== JSON.stringify(summary)) putSummary(summary);
  if (!timers.has(id))
    timers.set(
      id,
      setTimeout(() => void save(id), SAVE_MS),
    );
}

/** Changes the settings of a conversation, which new ones then have, too. */
export function setSettings(id: string, settings: Settings): void {
  change(id, (before) => ({ ...before, settings }));
  setPrefs({ settings });
}

/** Turns the draft into a conversation and shows it; returns its id. */
export function createFromDraft(): string {
  const id = newId();
  const now = Date.now();
  const draft = open.value.get(DRAFT) ?? emptyConversation(DRAFT, now);
  add({ ...draft, id, created: now, updated: now });
  resetDraft();
  go({ page: "chat", id });
  return id;
}

/** Adds a conversation and saves it. */
export function add(conversation: Conversation): void {
  const { id } = conversation;
  putOpen(conversation);
  putSummary(summaryOf(conversation));
  void save(id);
}

/** Saves a conversation now. Later deltas of a running answer schedule further saves. */
export async function save(id: string): Promise<void> {
  clearTimeout(timers.get(id));
  timers.delete(id);
  const conversation = open.value.get(id);
  if (conversation === undefined || id === DRAFT) return;
  saving.set(id, (saving.get(id) ?? 0) + 1);
  try {
    const { stored, changed } = await saveConversation(conversation).finally(() => endSaving(id));
    dropUnsaved(id);
    unstored.delete(id);
    join(stored);
    notifyTabs(id, changed);
    onStored(id, false);
  } catch (error) {
    tellUnstored(id, error);
  }
}

/** Offers an open conversation as a file, once until it can be stored again. */
function tellUnstored(id: string, error: unknown): void {
  if (unstored.has(id)) return;
  unstored.add(id);
  const saveIt = (): void => {
    const left = open.value.get(id);
    if (left !== undefined) saveFile("svc-conversation.json", [exportText([left])]);
  };
  const action = { label: t.errors.saveAsFile, run: saveIt };
  notify(t.errors.notSaved(messageOf(error)), action, { stays: true });
}

function endSaving(id: string): void {
  const left = (saving.get(id) ?? 0) - 1;
  if (left > 0) saving.set(id, left);
  else saving.delete(id);
}

/** Whether an open conversation has changes that are not stored yet. */
function isAhead(id: string): boolean {
  return timers.has(id) || saving.has(id);
}

/** Deletes a conversation; the notice has an undo button. */
export async function remove(id: string): Promise<void> {
  await openConversation(id);
  const removed = open.value.get(id);
  if (route.value.page === "chat" && route.value.id === id) go({ page: "chat" });
  clearTimeout(timers.get(id));
  timers.delete(id);
  await forget(id);
  onStored(id, true);
  if (removed === undefined) return;
  notify(t.chat.deleted(removed.title), { label: t.common.undo, run: () => add(removed) });
}

/** Deletes a conversation in this browser. */
export async function forget(id: string): Promise<void> {
  for (const { key, conversation } of unsaved()) if (conversation.id === id) dropUnsaved(id, key);
  dropDraft(id);
  removeOpen(id);
  await deleteConversation(id);
  notifyTabs(id);
}

/** Stores a conversation from another browser, merged with this browser's. Title and settings are those that changed last. */
export async function receive(theirs: Conversation, isChangedHere: boolean): Promise<void> {
  const { id } = theirs;
  const mine = open.value.get(id) ?? (await loadConversation(id));
  const both = mine === undefined ? theirs : isChangedHere ? merged(theirs, mine) : merged(mine, theirs);
  const { changed } = await saveConversation(both);
  notifyTabs(id, changed);
  await refresh({ id, changed });
}

/** Text of an export file with these conversations. */
export async function exportedText(ids: readonly string[], parts: ExportParts = {}): Promise<string> {
  for (const id of ids) await openConversation(id);
  const found = ids.map((id) => open.value.get(id)).filter((one) => one !== undefined);
  return exportText(found, parts);
}

/**
 * Imports the conversations of an export file; returns how many. Those that are here as they are in the file are left out, others with a known
 * id are added as copies.
 */
export function importAll(found: readonly Conversation[]): number {
  const known = new Map(summaries.value.map(({ id, updated }) => [id, updated]));
  const fresh = found.filter(({ id, updated }) => known.get(id) !== updated);
  for (const conversation of fresh) {
    const isTaken = known.has(conversation.id) || conversation.id === DRAFT;
    add(isTaken ? { ...conversation, id: newId() } : conversation);
  }
  return fresh.length;
}

/** Notifies other tabs that messages of a conversation or its queued question were saved, or that it was deleted. */
export function notifyTabs(id: string, changed: readonly string[] = []): void {
  channel.postMessage({ id, changed } satisfies News); // oxlint-disable-line unicorn/require-post-message-target-origin -- a channel has no origin
}

function resetDraft(): void {
  const { model, settings } = prefs.value;
  putOpen({ ...emptyConversation(DRAFT, Date.now()), model, settings });
}

/** Reloads a conversation that another tab saved or deleted. */
async function refresh({ id, changed }: News): Promise<void> {
  summaries.value = sorted(await loadSummaries());
  const mine = open.value.get(id);
  if (mine === undefined) return;
  const known = new Map(mine.messages.map((message) => [message.id, message]));
  for (const one of changed) known.delete(one);
  const found = await loadConversation(id, known);
  await refreshQueued(id);
  if (found !== undefined) join(found);
  else if (!isAhead(id) && !isRunning(id)) removeOpen(id);
}

/** Joins what is stored with an open conversation, whose settings and title win if they have changes that are not saved. */
function join(stored: Conversation): void {
  const mine = open.value.get(stored.id);
  if (mine === undefined) return;
  const both = merged(stored, mine);
  const { messages, leaf, session, updated } = both;
  const after = { ...(isAhead(stored.id) ? mine : stored), messages, leaf, session, updated };
  if (isSame(after, mine)) return;
  putOpen(restored(after));
  onNews(after, "tab");
}

/** Whether a merge changed nothing: it keeps the messages that it takes from this tab. */
function isSame(after: Conversation, mine: Conversation): boolean {
  return (
    after.messages.length === mine.messages.length &&
    after.messages.every((message, i) => message === mine.messages[i]) &&
    JSON.stringify({ ...after, messages: [] }) === JSON.stringify({ ...mine, messages: [] })
  );
}

function putOpen(conversation: Conversation): void {
  open.value = new Map(open.value).set(conversation.id, conversation);
}

function removeOpen(id: string): void {
  const rest = new Map(open.value);
  rest.delete(id);
  open.value = rest;
  summaries.value = summaries.value.filter((other) => other.id !== id);
}

function putSummary(summary: Summary): void {
  summaries.value = sorted([summary, ...summaries.value.filter(({ id }) => id !== summary.id)]);
}

function sorted(list: readonly Summary[]): readonly Summary[] {
  return list.toSorted((a, b) => b.updated - a.updated);
}
