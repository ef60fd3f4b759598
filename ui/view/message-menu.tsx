// Further actions of a message: edit an answer, continue from it in another conversation, delete.

import { GitFork, Pencil, Trash2 } from "lucide";
import type { Conversation, Message } from "../state/conversation.ts";
import { add, change, conversationOf } from "../state/conversations.ts";
import { answeredQuestions, forked, withMessagesOf, withoutMessage } from "../state/edits.ts";
import { forkedSession } from "../state/fork.ts";
import { newId } from "../state/new-id.ts";
import { go } from "../state/route.ts";
import { isRunning } from "../state/running.ts";
import { notify } from "../state/toasts.ts";
import { Menu, type MenuItem } from "./menu.tsx";
import { t } from "../texts/texts.ts";

interface MessageMenuProps {
  readonly conversation: Conversation;
  readonly message: Message;
  /** Opens the editor of an answer; a question has a button for it. */
  readonly onEdit?: () => void;
}

export function MessageMenu({ conversation: { id }, message, onEdit }: MessageMenuProps) {
  const isDisabled = isRunning(id);
  const texts = message.role === "user" ? t.question : t.answer;
  const items: readonly MenuItem[] = [
    ...(onEdit === undefined ? [] : [{ label: t.answer.edit, icon: Pencil, isDisabled, run: onEdit }]),
    { label: t.answer.fork, icon: GitFork, run: () => void fork(id, message) },
    {
      label: texts.remove,
      icon: Trash2,
      isDanger: true,
      isDisabled,
      run: () => deleteMessage(id, message),
    },
  ];
  return <Menu label={texts.more} items={items} isUp />;
}

async function fork(id: string, message: Message): Promise<void> {
  const conversation = conversationOf(id);
  if (conversation === undefined) return;
  const session = await forkedSession(conversation.session, answeredQuestions(conversation, message));
  const copy = { ...forked(conversation, message, { id: newId(), now: Date.now() }), session };
  add(copy);
  go({ page: "chat", id: copy.id });
  notify(t.answer.isCopy);
}

function deleteMessage(id: string, message: Message): void {
  const before = conversationOf(id);
  if (before === undefined) return;
  change(id, (conversation) => withoutMessage(conversation, message));
  const text = message.role === "user" ? t.answer.questionDeleted : t.answer.deleted;
  notify(text, { label: t.common.undo, run: () => change(id, (after) => withMessagesOf(after, before)) });
}
