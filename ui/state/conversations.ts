// The conversations that are open, and the list of all. One owner of both: everything changes them through `change`.

import { computed, signal } from "@preact/signals";
import { messageOf } from "../api/client.ts";
import { type Conversation, restored } from "./conversation.ts";
import { prefs } from "./prefs.ts";
import { newId } from "./new-id.ts";
import { go, route } from "./route.ts";
import { isRunning } from "./running.ts";
import {
  forgetConversation,
  loadConversation,
  loadSummaries,
  saveConversation,
  type Summary,
} from "./storage.ts";
import { notify } from "./toasts.ts";
import { emptyConversation, exportText, importText } from "./transfer.ts";

/** Longest time that words of a running answer are only in memory, milliseconds. */
const SAVE_MS = 1000;

/** All of them, the latest first. */
export const summaries = signal<readonly Summary[]>([]);
const open = signal<ReadonlyMap<string, Conversation>>(new Map());

/** The one that is shown: undefined while it is read, and on other pages. */
export const current = computed(() => {
  const at = route.value;
  return at.page === "chat" ? open.value.get(at.id ?? DRAFT) : undefined;
});

/** The id of the conversation that nobody has begun yet. It gets a real one with its first message. */
export const DRAFT = "new";

const timers = new Map<string, ReturnType<typeof setTimeout>>();
const channel = new BroadcastChannel("svc");

/** Reads the list, and follows the other tabs. */
export async function startConversations(): Promise<void> {
  resetDraft();
  channel.addEventListener("message", ({ data }: MessageEvent<string>) => {
    void refresh(data);
  });
  addEventListener("pagehide", () => {
    for (const id of timers.keys()) void save(id);
  });
  summaries.value = sorted(await loadSummaries());
}

export function conversationOf(id: string): Conversation | undefined {
  return open.value.get(id);
}

/** Brings a conversation into memory. False where there is none. */
export async function openConversation(id: string): Promise<boolean> {
  if (open.value.has(id)) return true;
  const found = await loadConversation(id);
  if (found === undefined) return false;
  if (!open.value.has(id)) keep(restored(found));
  return true;
}

/** Changes an open conversation; what is in memory is saved soon. */
export function change(id: string, how: (conversation: Conversation) => Conversation): void {
  const before = open.value.get(id);
  if (before === undefined) return;
  const after = how(before);
  keep(after);
  if (id === DRAFT) return;
  const { title, updated } = after;
  if (before.title !== title || before.updated !== updated) enlist({ id, title, updated });
  if (!timers.has(id))
    timers.set(
      id,
      setTimeout(() => void save(id), SAVE_MS),
    );
}

/** Makes the draft a conversation of its own and shows it; returns its id. */
export function begin(): string {
  const id = newId();
  const now = Date.now();
  const draft = open.value.get(DRAFT) ?? emptyConversation(DRAFT, now);
  add({ ...draft, id, created: now, updated: now });
  resetDraft();
  go({ page: "chat", id });
  return id;
}

/** Adds a whole conversation. */
export function add(conversation: Conversation): void {
  const { id, title, updated } = conversation;
  keep(conversation);
  enlist({ id, title, updated });
  void save(id);
}

/** Saves now; a running answer's words follow. */
export async function save(id: string): Promise<void> {
  clearTimeout(timers.get(id));
  timers.delete(id);
  const conversation = open.value.get(id);
  if (conversation === undefined || id === DRAFT) return;
  try {
    await saveConversation(conversation);
    tellOthers(id);
  } catch (error) {
    notify(`This conversation could not be saved in the browser: ${messageOf(error)}`);
  }
}

/** Deletes a conversation; the notice offers to take that back. */
export async function remove(id: string): Promise<void> {
  await openConversation(id);
  const removed = open.value.get(id);
  if (route.value.page === "chat" && route.value.id === id) go({ page: "chat" });
  clearTimeout(timers.get(id));
  timers.delete(id);
  drop(id);
  await forgetConversation(id);
  tellOthers(id);
  if (removed === undefined) return;
  notify(`Deleted “${removed.title}”.`, { label: "Undo", run: () => add(removed) });
}

/** The text of a file with one conversation, or with all. */
export async function exported(ids: readonly string[]): Promise<string> {
  for (const id of ids) await openConversation(id);
  const found = ids.map((id) => open.value.get(id)).filter((one) => one !== undefined);
  return exportText(found);
}

/** Adds the conversations of a file. One that is here already comes as a copy. */
export function importAll(text: string): number {
  const found = importText(text);
  for (const conversation of found) {
    const isKnown = summaries.value.some(({ id }) => id === conversation.id);
    add(isKnown || conversation.id === DRAFT ? { ...conversation, id: newId() } : conversation);
  }
  return found.length;
}

/** Tells the other tabs that a conversation was saved or deleted. */
function tellOthers(id: string): void {
  channel.postMessage(id); // oxlint-disable-line unicorn/require-post-message-target-origin -- that is of windows
}

function resetDraft(): void {
  const { model, settings } = prefs.value;
  keep({ ...emptyConversation(DRAFT, Date.now()), model, settings });
}

/** Another tab has saved or deleted a conversation. */
async function refresh(id: string): Promise<void> {
  summaries.value = sorted(await loadSummaries());
  if (!open.value.has(id) || timers.has(id) || isRunning(id)) return; // what is said here counts
  const found = await loadConversation(id);
  if (found === undefined) drop(id);
  else keep(restored(found));
}

function keep(conversation: Conversation): void {
  open.value = new Map(open.value).set(conversation.id, conversation);
}

function drop(id: string): void {
  const rest = new Map(open.value);
  rest.delete(id);
  open.value = rest;
  summaries.value = summaries.value.filter((other) => other.id !== id);
}

function enlist(summary: Summary): void {
  summaries.value = sorted([summary, ...summaries.value.filter(({ id }) => id !== summary.id)]);
}

function sorted(list: readonly Summary[]): readonly Summary[] {
  return list.toSorted((a, b) => b.updated - a.updated);
}
