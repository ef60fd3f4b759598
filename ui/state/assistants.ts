// The assistants of this browser.

import { signal } from "@preact/signals";
import { type Assistant, assistantsIn } from "./assistant.ts";
import type { Conversation } from "./conversation.ts";
import { change } from "./conversations.ts";
import { newId } from "./new-id.ts";

const KEY = "svc.assistants";

export const assistants = signal<readonly Assistant[]>(load());

/** Saves the settings of a conversation under a name; one of the same name is replaced. */
export function saveAssistant(name: string, { model, settings }: Conversation): void {
  const known = assistants.value.find((one) => one.name === name);
  const assistant = { id: known?.id ?? newId(), name, model, settings };
  put([...assistants.value.filter(({ id }) => id !== assistant.id), assistant]);
}

export function removeAssistant(id: string): void {
  put(assistants.value.filter((one) => one.id !== id));
}

/** Adds assistants of an export file; those of the same id are replaced. */
export function addAssistants(added: readonly Assistant[]): void {
  const ids = new Set(added.map(({ id }) => id));
  put([...assistants.value.filter(({ id }) => !ids.has(id)), ...added]);
}

/** Gives a conversation the model and settings of an assistant. */
export function applyAssistant(conversationId: string, { model, settings }: Assistant): void {
  change(conversationId, (before) => ({ ...before, model, settings }));
}

function put(list: readonly Assistant[]): void {
  assistants.value = list.toSorted((a, b) => a.name.localeCompare(b.name));
  try {
    localStorage.setItem(KEY, JSON.stringify(assistants.value));
  } catch {
    // storage is forbidden or full; assistants last until the page is closed
  }
}

function load(): readonly Assistant[] {
  try {
    const stored: unknown = JSON.parse(localStorage.getItem(KEY) ?? "[]");
    return assistantsIn(stored);
  } catch {
    return [];
  }
}
