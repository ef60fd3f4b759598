// What is typed or attached but not sent, by conversation: the composer's content, and the next question while an answer runs. All
// of it survives a reload. The draft of a new conversation belongs to its tab: two tabs begin two conversations. A tab that is
// closed leaves it to the next one that is opened.

import { signal } from "@preact/signals";
import type { Draft } from "./conversation.ts";
import { loadDraftFiles, saveDraftFiles } from "./draft-files.ts";
import { newId } from "./new-id.ts";
import { addQueued, loadQueued, removeQueued } from "./storage.ts";
import { notify } from "./toasts.ts";
import { t } from "../texts/texts.ts";

export type { Draft } from "./conversation.ts";

type Drafts = ReadonlyMap<string, Draft>;

/** Id of the draft, a conversation without messages. */
export const DRAFT = "new";

const KEY = "svc.drafts";
/** Names of the text of this tab's new draft, and of its id, in the tab's session storage. */
const OWN_KEY = "svc.draft";
const OWN_ID_KEY = "svc.draft.id";
/** Drafts that are kept in the browser, latest first, and characters of each. */
const KEPT_MAX = 20;
const KEPT_CHARS_MAX = 20_000;

const EMPTY: Draft = { text: "", attachments: [] };

/** Name under which this tab's new draft is stored. */
let ownName = `${DRAFT}:${newId()}`;
const drafts = signal<Drafts>(load());
const queue = signal<Drafts>(new Map());
/** Drafts whose files were loaded, by conversation. */
const loaded = new Map<string, Promise<void>>();
let writing: Promise<void> = Promise.resolve();

export function draftOf(conversationId: string): Draft {
  return drafts.value.get(conversationId) ?? EMPTY;
}

export function setDraft(conversationId: string, change: Partial<Draft>): void {
  const before = draftOf(conversationId);
  drafts.value = replaced(drafts.value, conversationId, { ...before, ...change });
  if (conversationId === DRAFT) storeOwn();
  else store(conversationId);
  const { attachments = before.attachments } = change;
  if (attachments !== before.attachments && attachments.length + before.attachments.length > 0)
    keepFiles(conversationId);
}

/** Adds the stored files of a draft to it, once. */
export function loadDraft(conversationId: string): Promise<void> {
  const known = loaded.get(conversationId);
  if (known !== undefined) return known;
  const loading = addStoredFiles(conversationId);
  loaded.set(conversationId, loading);
  return loading;
}

async function addStoredFiles(id: string): Promise<void> {
  const found = await loadDraftFiles(nameOf(id));
  if (found.length === 0) return;
  const { text, attachments } = draftOf(id);
  drafts.value = replaced(drafts.value, id, { text, attachments: [...found, ...attachments] });
}

/** Forgets the stored draft of a conversation that was deleted. */
export function dropDraft(conversationId: string): void {
  put(stored().filter(([id]) => id !== conversationId));
  writing = writing.then(() => saveDraftFiles(conversationId, [])).then(ignore, ignore);
}

/** Leaves the draft of a new conversation to the next tab when this one is closed. */
export function watchDrafts(): void {
  addEventListener("pagehide", () => store(DRAFT));
  addEventListener("pageshow", ({ persisted }: PageTransitionEvent) => {
    if (persisted) removeLeft(); // the page was kept, and with it its draft
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

/** Stores the files of a draft after what is stored of it was loaded. */
function keepFiles(id: string): void {
  const write = async (): Promise<boolean> => {
    await loadDraft(id);
    return saveDraftFiles(nameOf(id), draftOf(id).attachments);
  };
  writing = writing
    .then(write)
    .catch(() => false)
    .then((isKept) => isKept || notify(t.errors.draftNotKept))
    .then(ignore);
}

function ignore(): void {
  // nothing waits for the result; files that could not be removed go by their age
}

/** Name under which a draft is stored. */
function nameOf(id: string): string {
  return id === DRAFT ? ownName : id;
}

/** Stores the text of one draft; those of others may have changed in other tabs. */
function store(id: string): void {
  const { text, attachments } = draftOf(id);
  const isLeft = id === DRAFT && attachments.length > 0; // so that the next tab finds the files
  const isKept = (text.trim() !== "" || isLeft) && text.length <= KEPT_CHARS_MAX;
  const others = stored().filter(([other]) => other !== nameOf(id));
  put([...others, ...(isKept ? [[nameOf(id), text] as const] : [])]);
}

type Entry = readonly [name: string, text: string];

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

/** Whether a stored draft is one that a closed tab has left. Earlier versions had one name for all of them. */
function isLeft([name]: Entry): boolean {
  return name === DRAFT || name.startsWith(`${DRAFT}:`);
}

/** Takes the latest new draft that a closed tab has left; other tabs do not get it, too. Returns its text. */
function takeLeft(): string {
  const left = stored().findLast(isLeft);
  if (left === undefined) return "";
  const [name, text] = left;
  put(stored().filter(([other]) => other !== name));
  if (name !== DRAFT) ownName = name;
  return text;
}

/** Removes what this tab has left when it seemed to be closed. */
function removeLeft(): void {
  put(stored().filter(([name]) => name !== ownName));
}

function load(): Drafts {
  const text = ownDraft() ?? takeLeft();
  removeLeft();
  try {
    sessionStorage.setItem(OWN_ID_KEY, ownName);
    if (text !== "") sessionStorage.setItem(OWN_KEY, text); // else a reload would take what another tab has left meanwhile
  } catch {
    // storage is forbidden; files of the draft last until the page is closed
  }
  const others = stored().filter((entry) => !isLeft(entry));
  const all: readonly Entry[] = text === "" ? others : [...others, [DRAFT, text]];
  return new Map(all.map(([id, kept]) => [id, { text: kept, attachments: [] }]));
}

/** The text of this tab's new draft before a reload; undefined in a tab that was opened now. */
function ownDraft(): string | undefined {
  try {
    ownName = sessionStorage.getItem(OWN_ID_KEY) ?? ownName;
    return sessionStorage.getItem(OWN_KEY) ?? undefined;
  } catch {
    return undefined;
  }
}
