// Further actions of a message: edit an answer, continue from it in another conversation, delete.

import { GitFork, Pencil, Trash2 } from "lucide";
import type { Conversation, Message } from "../state/conversation.ts";
import { add, change, conversationOf } from "../state/conversations.ts";
import { forked, withMessagesOf, withoutMessage } from "../state/edits.ts";
import { newId } from "../state/new-id.ts";
import { go } from "../state/route.ts";
import { isRunning } from "../state/running.ts";
import { notify } from "../state/toasts.ts";
import { Menu, type MenuItem } from "./menu.tsx";

interface MessageMenuProps {
  readonly conversation: Conversation;
  readonly message: Message;
  /** Opens the editor of an answer; a question has a button for it. */
  readonly onEdit?: () => void;
}

export function MessageMenu({ conversation: { id }, message, onEdit }: MessageMenuProps) {
  const isDisabled = isRunning(id);
  const kind = message.role === "user" ? "question" : "answer";
  const items: readonly MenuItem[] = [
    ...(onEdit === undefined ? [] : [{ label: "Edit answer", icon: Pencil, isDisabled, run: onEdit }]),
    { label: "Fork from here", icon: GitFork, run: () => fork(id, message) },
    {
      label: `Delete ${kind}`,
      icon: Trash2,
      isDanger: true,
      isDisabled,
      run: () => deleteMessage(id, message),
    },
  ];
  return <Menu label={`More actions for this ${kind}`} items={items} isUp />;
}

function fork(id: string, message: Message): void {
  const conversation = conversationOf(id);
  if (conversation === undefined) return;
  const copy = forked(conversation, message, { id: newId(), now: Date.now() });
  add(copy);
  go({ page: "chat", id: copy.id });
  notify("This is a copy; the conversation that it comes from is unchanged.");
}

function deleteMessage(id: string, message: Message): void {
  const before = conversationOf(id);
  if (before === undefined) return;
  change(id, (conversation) => withoutMessage(conversation, message));
  const text = message.role === "user" ? "Deleted the question and its answers." : "Deleted the answer.";
  notify(text, { label: "Undo", run: () => change(id, (after) => withMessagesOf(after, before)) });
}
