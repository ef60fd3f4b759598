// The answers that this tab is waiting for.

import { signal } from "@preact/signals";

const running = signal<ReadonlyMap<string, AbortController>>(new Map());

export function isRunning(conversationId: string): boolean {
  return running.value.has(conversationId);
}

/** Notes that a conversation is being answered; the controller stops it. */
export function begins(conversationId: string, abort: AbortController): void {
  running.value = new Map(running.value).set(conversationId, abort);
}

export function ends(conversationId: string): void {
  const others = new Map(running.value);
  others.delete(conversationId);
  running.value = others;
}

export function stop(conversationId: string): void {
  running.value.get(conversationId)?.abort();
}
