// Conversations that were not stored when their page was left. A save takes several turns of the event loop, which a page that is
// left does not get; local storage is written at once. The next start stores them.

import { Value } from "@sinclair/typebox/value";
import { Conversation } from "./conversation.ts";
import { newId } from "./new-id.ts";

const PREFIX = "svc.unsaved.";
/** Tabs share the storage: a tab that saves a conversation must not drop what another one has left of it. */
const PAGE = newId();

export interface Unsaved {
  readonly key: string;
  readonly conversation: Conversation;
}

const keyOf = (id: string): string => `${PREFIX}${PAGE}.${id}`;

/** Keeps a conversation for the next start; not one that is too large for local storage. */
export function keepUnsaved(conversation: Conversation): void {
  try {
    localStorage.setItem(keyOf(conversation.id), JSON.stringify(conversation));
  } catch {
    // full, or forbidden: what the database has is what is left
  }
}

/** Drops what is kept of a conversation under one key; by default what this page has kept. */
export function dropUnsaved(id: string, key = keyOf(id)): void {
  try {
    localStorage.removeItem(key);
  } catch {
    // forbidden: nothing was kept either
  }
}

/** The conversations that were kept, of all pages. */
export function unsaved(): readonly Unsaved[] {
  try {
    const keys = Object.keys(localStorage).filter((key) => key.startsWith(PREFIX));
    return keys.flatMap((key) => {
      const conversation: unknown = JSON.parse(localStorage.getItem(key) ?? "null");
      return Value.Check(Conversation, conversation) ? [{ key, conversation }] : [];
    });
  } catch {
    return [];
  }
}
