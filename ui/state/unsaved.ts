// Conversations that were not stored when their page was left. A save takes several turns of the event loop, which a page that is
// left does not get; local storage is written at once. The next start stores them.

import { Value } from "@sinclair/typebox/value";
import { Conversation } from "./conversation.ts";

const PREFIX = "svc.unsaved.";

/** Keeps a conversation for the next start; not one that is too large for local storage. */
export function keepUnsaved(conversation: Conversation): void {
  try {
    localStorage.setItem(PREFIX + conversation.id, JSON.stringify(conversation));
  } catch {
    // full, or forbidden: what the database has is what is left
  }
}

export function dropUnsaved(id: string): void {
  try {
    localStorage.removeItem(PREFIX + id);
  } catch {
    // forbidden: nothing was kept either
  }
}

/** The conversations that were kept. */
export function unsaved(): readonly Conversation[] {
  try {
    const keys = Object.keys(localStorage).filter((key) => key.startsWith(PREFIX));
    const found: readonly unknown[] = keys.map((key) => JSON.parse(localStorage.getItem(key) ?? "null"));
    return found.filter((one) => Value.Check(Conversation, one));
  } catch {
    return [];
  }
}
