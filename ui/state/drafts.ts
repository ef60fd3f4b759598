// What is typed but not sent, by conversation: the composer's content, and the next question while an answer runs. The next
// question and the texts of drafts survive a reload.

import { signal } from "@preact/signals";
import type { Draft } from "./conversation.ts";
import { addQueued, loadQueued, removeQueued } from "./storage.ts";

export type { Draft } from "./conversation.ts";

type Drafts = ReadonlyMap<string, Draft>;

const KEY = "svc.drafts";
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
  store();
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

function store(): void {
  const texts = [...drafts.value]
    .filter(([, { text }]) => text.trim() !== "" && text.length <= KEPT_CHARS_MAX)
    .slice(-KEPT_MAX)
    .map(([id, { text }]) => [id, text]);
  try {
    localStorage.setItem(KEY, JSON.stringify(texts));
  } catch {
    // storage is forbidden or full; drafts last until the page is closed
  }
}

function load(): Drafts {
  try {
    const stored: unknown = JSON.parse(localStorage.getItem(KEY) ?? "[]");
    const entries = Array.isArray(stored) ? stored : [];
    return new Map(
      entries
        .filter(
          (entry): entry is [string, string] =>
            Array.isArray(entry) && entry.every((part) => typeof part === "string"),
        )
        .map(([id, text]) => [id, { text, attachments: [] }]),
    );
  } catch {
    return new Map();
  }
}
