// Edits of a conversation's tree: delete a message, edit an answer, fork. Pure.

import {
  type AssistantMessage,
  type Conversation,
  type Message,
  revised,
  sentMessages,
  showAlternative,
  siblings,
  thread,
} from "./conversation.ts";
import type { ServerSession } from "./transfer.ts";
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

/**
 * Gives an answer another text; the text before becomes an alternative, with the id given. The turns after it stay: a corrected word does
 * not cost what followed.
 */
export function withEditedAnswer(
  conversation: Conversation,
  answer: AssistantMessage,
  { id, text }: { readonly id: string; readonly text: string },
): Conversation {
  const { parent, model } = answer;
  const place = { id: answer.id, parent, role: "assistant" as const, model, state: "done" as const };
  const edited = revised<Message>({ ...place, edited: true, parts: [{ type: "text", text }] }, answer);
  const messages = conversation.messages.flatMap((one) =>
    one.id === answer.id ? [{ ...answer, id }, edited] : [one],
  );
  return { ...conversation, messages };
}

/** The questions that a thread up to a message holds with their answers, as they were sent. */
export function answeredQuestions(conversation: Conversation, last: Message): readonly string[] {
  const sent = sentMessages({ ...conversation, leaf: last.id });
  const questions = sent.flatMap((message) => (message.role === "user" ? [message.text] : []));
  return last.role === "user" ? questions.slice(0, -1) : questions;
}

/**
 * Index of the session's user message that is the last of these questions; -1 without one. The server may know fewer questions: those
 * that were left out or deleted here, or others, if another version was sent last. Of equal questions, the one with most in common before it.
 */
export function serverTurn(questions: readonly string[], { messages }: ServerSession): number {
  const known = messages.filter(({ role }) => role === "user").map(({ content }) => content ?? "");
  const isSame = (at: number, back: number): boolean => {
    const question = questions[questions.length - 1 - back];
    const content = known[at - back];
    if (question === undefined || content === undefined) return false;
    // What is typed is the last text of a message with files.
    return typeof content === "string"
      ? content === question
      : (content.findLast(({ type }) => type === "text")?.text ?? "") === question;
  };
  const commonBefore = (at: number): number => {
    let count = 0;
    while (isSame(at, count)) count++;
    return count;
  };
  const best = known.map((_, at) => commonBefore(at));
  const most = Math.max(0, ...best);
  return most === 0 ? -1 : best.lastIndexOf(most);
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
