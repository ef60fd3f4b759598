// What is looked for in a conversation: words from the search of all conversations, or from the box above the thread.

import { signal } from "@preact/signals";
import { type Conversation, type Message, showAlternative, thread } from "./conversation.ts";
import { textOf } from "./search.ts";

export interface Find {
  readonly conversation: string;
  readonly words: string;
  /** Message that is shown; undefined: the last one with the words. */
  readonly at: string | undefined;
}

/** Undefined: nothing is looked for. */
export const find = signal<Find | undefined>(undefined);

/** The shown messages that contain the words, in any case. */
export function hitsIn(conversation: Conversation, words: string): readonly Message[] {
  const wanted = words.trim().toLowerCase();
  if (wanted === "") return [];
  return thread(conversation).filter((message) => textOf(message).toLowerCase().includes(wanted));
}

/** The conversation with this message in its thread. */
export function withInThread(conversation: Conversation, id: string): Conversation {
  const isShown = thread(conversation).some((message) => message.id === id);
  const isThere = conversation.messages.some((message) => message.id === id && message.deleted !== true);
  return isShown || !isThere ? conversation : showAlternative(conversation, id);
}

/** The message after the shown one, or before it, in a circle. */
export function nextHit(hits: readonly Message[], at: string | undefined, step: 1 | -1): string | undefined {
  const index = hits.findIndex(({ id }) => id === at);
  return hits.at(((index < 0 ? 0 : index + step) + hits.length) % Math.max(1, hits.length))?.id;
}
