// Running answers of this tab, by conversation.

import { signal } from "@preact/signals";

const running = signal<ReadonlyMap<string, AbortController>>(new Map());

export function isRunning(conversationId: string): boolean {
  return running.value.has(conversationId);
}

/** Marks a conversation as being answered; the controller aborts the answer. */
export function markRunning(conversationId: string, abort: AbortController): void {
  running.value = new Map(running.value).set(conversationId, abort);
}

export function markEnded(conversationId: string): void {
  const others = new Map(running.value);
  others.delete(conversationId);
  running.value = others;
}

export function stopAnswer(conversationId: string): void {
  running.value.get(conversationId)?.abort();
}
