// The assistants of this browser.

import { type Assistant, assistantsIn } from "./assistant.ts";
import type { Conversation } from "./conversation.ts";
import { change } from "./conversations.ts";
import { namedList } from "./named-list.ts";

const list = namedList("svc.assistants", assistantsIn);

export const { items: assistants, remove: removeAssistant, add: addAssistants } = list;

/** Saves the settings of a conversation under a name. */
export function saveAssistant(name: string, { model, settings }: Conversation): void {
  list.save((id) => ({ id, name, model, settings }));
}

/** Gives a conversation the model and settings of an assistant. */
export function applyAssistant(conversationId: string, { model, settings }: Assistant): void {
  change(conversationId, (before) => ({ ...before, model, settings }));
}
