// Buttons to switch between the alternatives of a message.

import { ChevronLeft, ChevronRight } from "lucide";
import { isRunning } from "../state/running.ts";
import { type Conversation, type Message, showAlternative, siblings } from "../state/conversation.ts";
import { change } from "../state/conversations.ts";
import { Icon } from "./icon.tsx";
import { t } from "../texts/texts.ts";

interface AlternativesProps {
  readonly conversation: Conversation;
  readonly message: Message;
}

export function Alternatives({ conversation, message }: AlternativesProps) {
  const all = siblings(conversation, message);
  if (all.length < 2) return null;
  const at = all.findIndex(({ id }) => id === message.id);
  const step = (by: number) => {
    const target = all[at + by];
    return {
      disabled: target === undefined || isRunning(conversation.id),
      onClick: () =>
        target !== undefined && change(conversation.id, (before) => showAlternative(before, target.id)),
    };
  };
  return (
    <span class="alternatives">
      <button type="button" class="ghost" aria-label={t.chat.previous} {...step(-1)}>
        <Icon node={ChevronLeft} size={15} />
      </button>
      <span>
        {at + 1}/{all.length}
      </span>
      <button type="button" class="ghost" aria-label={t.chat.next} {...step(1)}>
        <Icon node={ChevronRight} size={15} />
      </button>
    </span>
  );
}
