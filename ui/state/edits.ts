// Edits of a conversation's tree: delete a message, edit an answer, fork. Pure.

import {
  append,
  type AssistantMessage,
  type Conversation,
  type Message,
  revised,
  showAlternative,
  siblings,
  thread,
} from "./conversation.ts";
import { t } from "../texts/texts.ts";

/**
 * A conversation without the content of a message; a question is deleted with its answers. The emptied messages keep the tree
 * together, also in other tabs.
 */
export function withoutMessage(conversation: Conversation, message: Message): Conversation {
  const isDeleted = ({ id, parent, role }: Message): boolean =>
    id === message.id || (message.role === "user" && role === "assistant" && parent === message.id);
  const messages = conversation.messages.map((one) => (isDeleted(one) ? revised(emptied(one), one) : one));
  const after = { ...conversation, messages };
  const other = siblings(after, message).at(-1);
  return other === undefined ? after : showAlternative(after, other.id);
}

/** Restores deleted messages from an earlier state. */
export function withMessagesOf(conversation: Conversation, before: Conversation): Conversation {
  const known = new Map(before.messages.map((message) => [message.id, message]));
  const messages = conversation.messages.map((message) => {
    const restored = message.deleted === true ? known.get(message.id) : undefined;
    return restored === undefined ? message : revised(restored, message);
  });
  return { ...conversation, messages, leaf: before.leaf };
}

function emptied(message: Message): Message {
  const { id, parent, role } = message;
  if (role === "user") return { id, parent, role, text: "", attachments: [], deleted: true };
  return { id, parent, role, model: "", parts: [], state: "done", deleted: true };
}

/** Adds an alternative to an answer with another text; the first remains. */
export function withEditedAnswer(
  conversation: Conversation,
  answer: AssistantMessage,
  { id, text }: { readonly id: string; readonly text: string },
): Conversation {
  const { parent, model } = answer;
  const edited = { id, parent, role: "assistant" as const, model, state: "done" as const, edited: true };
  return append(conversation, { ...edited, parts: [{ type: "text", text }] });
}

/** Index of the last user turn that a thread up to a message holds with its answer; -1 for none. */
export function turnUpTo(conversation: Conversation, last: Message): number {
  const questions = thread({ ...conversation, leaf: last.id }).filter(({ role }) => role === "user");
  return questions.length - (last.role === "user" ? 2 : 1);
}

/** A copy of the thread up to a message, as a conversation of its own. A session stays with the first. */
export function forked(
  conversation: Conversation,
  last: Message,
  { id, now }: { readonly id: string; readonly now: number },
): Conversation {
  const messages = thread({ ...conversation, leaf: last.id });
  const title = t.chat.forked(conversation.title);
  return { ...relinked({ ...conversation, messages: [...messages] }), id, title, created: now, updated: now };
}

/** A thread whose messages follow each other, without those between that were deleted. */
function relinked(conversation: Conversation): Conversation {
  let parent: string | null = null;
  const messages = conversation.messages.map((message) => {
    const linked = { ...message, parent };
    parent = message.id;
    return linked;
  });
  return { ...conversation, messages, leaf: parent, session: null, pinned: false };
}
