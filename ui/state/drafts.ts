// What is typed but not sent, by conversation: the composer's content, and the next question while an answer runs. The next
// question and the texts of drafts survive a reload. The draft of a new conversation belongs to its tab: two tabs begin two
// conversations. A tab that is closed leaves it to the next one that is opened.

import { signal } from "@preact/signals";
import type { Draft } from "./conversation.ts";
import { addQueued, loadQueued, removeQueued } from "./storage.ts";

export type { Draft } from "./conversation.ts";

type Drafts = ReadonlyMap<string, Draft>;

/** Id of the draft, a conversation without messages. */
export const DRAFT = "new";

const KEY = "svc.drafts";
/** Name of this tab's new draft in its session storage. */
const OWN_KEY = "svc.draft";
/** Drafts that are kept in the browser, latest first, and characters of each. */
const KEPT_MAX = 20;
const KEPT_CHARS_MAX = 20_000;

const EMPTY: Draft = { text: "", attachments: [] };

const drafts = signal<Drafts>(load());
const queue = signal<Drafts>(new Map());

export function draftOf(conversationId: string): Draft {
  return drafts.value.get(conversationId) ?? EMPTY;
}

export function setDraft(conversationId: string, change: Partial<Draft>): void {
  drafts.value = replaced(drafts.value, conversationId, { ...draftOf(conversationId), ...change });
  if (conversationId === DRAFT) storeOwn();
  else store(conversationId);
}

/** Leaves the draft of a new conversation to the next tab when this one is closed. */
export function watchDrafts(): void {
  addEventListener("pagehide", () => store(DRAFT));
  addEventListener("pageshow", ({ persisted }: PageTransitionEvent) => {
    if (persisted) takeLeft(draftOf(DRAFT).text); // the page was kept, and with it its draft
  });
}

/** The question that will be asked when the running answer is complete. */
export function queuedOf(conversationId: string): Draft | undefined {
  return queue.value.get(conversationId);
}

/** Queues a question; one that is queued already is continued by it. */
export async function enqueue(conversationId: string, draft: Draft): Promise<void> {
  queue.value = replaced(queue.value, conversationId, joined(queuedOf(conversationId), draft));
  await addQueued(conversationId, (before) => joined(before, draft));
}

/** Loads the question that is queued in any tab. */
export async function refreshQueued(conversationId: string): Promise<void> {
  queue.value = replaced(queue.value, conversationId, (await loadQueued(conversationId)) ?? EMPTY);
}

/** Removes the queued question and returns it; undefined if another tab was faster. */
export async function takeQueued(conversationId: string): Promise<Draft | undefined> {
  const shown = queuedOf(conversationId);
  queue.value = replaced(queue.value, conversationId, EMPTY);
  return removeQueued(conversationId, shown);
}

/** Puts the queued question back into the composer, before what is typed there. */
export async function unqueue(conversationId: string): Promise<void> {
  const queued = await takeQueued(conversationId);
  if (queued === undefined) return;
  const { text, attachments } = draftOf(conversationId);
  setDraft(conversationId, {
    text: [queued.text, text].filter((part) => part !== "").join("\n\n"),
    attachments: [...queued.attachments, ...attachments],
  });
}

function joined(before: Draft = EMPTY, { text, attachments }: Draft): Draft {
  const texts = [before.text, text].filter((part) => part.trim() !== "");
  return { text: texts.join("\n\n"), attachments: [...before.attachments, ...attachments] };
}

/** A map with another draft; latest last, without empty ones. */
function replaced(all: Drafts, id: string, draft: Draft): Drafts {
  const others = new Map(all);
  others.delete(id);
  return draft.text === "" && draft.attachments.length === 0 ? others : others.set(id, draft);
}

function storeOwn(): void {
  try {
    sessionStorage.setItem(OWN_KEY, draftOf(DRAFT).text);
  } catch {
    // storage is forbidden or full; the draft lasts until the page is closed
  }
}

/** Stores the draft of one conversation; those of others may have changed in other tabs. */
function store(id: string): void {
  const { text } = draftOf(id);
  const isKept = text.trim() !== "" && text.length <= KEPT_CHARS_MAX;
  const others = stored().filter(([other]) => other !== id);
  put([...others, ...(isKept ? [[id, text] as const] : [])]);
}

type Entry = readonly [id: string, text: string];

function put(entries: readonly Entry[]): void {
  try {
    localStorage.setItem(KEY, JSON.stringify(entries.slice(-KEPT_MAX)));
  } catch {
    // storage is forbidden or full; drafts last until the page is closed
  }
}

function stored(): readonly Entry[] {
  try {
    const value: unknown = JSON.parse(localStorage.getItem(KEY) ?? "[]");
    const entries: readonly unknown[] = Array.isArray(value) ? value : [];
    return entries.filter(
      (entry): entry is [string, string] =>
        Array.isArray(entry) && entry.length === 2 && entry.every((part) => typeof part === "string"),
    );
  } catch {
    return [];
  }
}

/** Text of the new draft that a closed tab has left, unless it is not the expected one. Other tabs do not get it, too. */
function takeLeft(expected?: string): string {
  const left = stored().find(([id]) => id === DRAFT)?.[1] ?? "";
  if (left === "" || (expected !== undefined && left !== expected)) return "";
  put(stored().filter(([id]) => id !== DRAFT));
  return left;
}

function load(): Drafts {
  const own = ownDraft();
  const text = own ?? takeLeft();
  if (own !== undefined) takeLeft(own); // this tab left it when it was reloaded
  const others = stored().filter(([id]) => id !== DRAFT);
  const all: readonly Entry[] = text === "" ? others : [...others, [DRAFT, text]];
  return new Map(all.map(([id, kept]) => [id, { text: kept, attachments: [] }]));
}

/** The new draft of this tab before a reload; undefined in a tab that was opened now. */
function ownDraft(): string | undefined {
  try {
    return sessionStorage.getItem(OWN_KEY) ?? undefined;
  } catch {
    return undefined;
  }
}
