// A conversation as messages see it that do not grow: the same object while an answer grows, so that they are not drawn again.

import type { Conversation, Message } from "../state/conversation.ts";

const isGrowing = (message: Message): boolean => message.role === "assistant" && message.state === "running";

/** The earlier conversation where the later one differs in running answers alone, else the later one. */
export function steady(earlier: Conversation | undefined, later: Conversation): Conversation {
  if (earlier === undefined || earlier === later) return later;
  const { messages: before, ...rest } = earlier;
  const { messages: after, ...others } = later;
  const isSame =
    before.length === after.length &&
    after.every(
      (message, i) => message === before[i] || (isGrowing(message) && message.id === before[i]?.id),
    ) &&
    Object.keys({ ...rest, ...others }).every(
      (name) => rest[name as keyof typeof rest] === others[name as keyof typeof others],
    );
  return isSame ? earlier : later;
}
