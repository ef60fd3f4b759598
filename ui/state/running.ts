// Answers that this tab follows. Their conversations are noted in the browser, so that a page that is loaded again follows them.

import { signal } from "@preact/signals";
import { stopChat } from "../api/chat.ts";

interface Running {
  readonly conversationId: string;
  readonly abort: AbortController;
  readonly isLost: boolean;
}

const KEY = "svc.running";

/** By the id of the answer. */
const running = signal<ReadonlyMap<string, Running>>(new Map());

/** Whether an answer of a conversation runs. */
export function isRunning(conversationId: string): boolean {
  return [...running.value.values()].some((one) => one.conversationId === conversationId);
}

/** Whether this tab follows an answer. */
export function isFollowed(answerId: string): boolean {
  return running.value.has(answerId);
}

/** Whether the connection of an answer is lost at the moment. */
export function isLost(answerId: string): boolean {
  return running.value.get(answerId)?.isLost ?? false;
}

/** Marks an answer as being followed; the controller ends that. */
export function markRunning(answerId: string, conversationId: string, abort: AbortController): void {
  running.value = new Map(running.value).set(answerId, { conversationId, abort, isLost: false });
  note([...noted(), conversationId]);
}

export function markLost(answerId: string, isNowLost: boolean): void {
  const before = running.value.get(answerId);
  if (before === undefined || before.isLost === isNowLost) return;
  running.value = new Map(running.value).set(answerId, { ...before, isLost: isNowLost });
}

export function markEnded(answerId: string): void {
  const others = new Map(running.value);
  const ended = others.get(answerId);
  others.delete(answerId);
  running.value = others;
  if (ended !== undefined && !isRunning(ended.conversationId))
    note(noted().filter((id) => id !== ended.conversationId));
}

/** Stops the running answers of a conversation, in all tabs. */
export function stopAnswer(conversationId: string): void {
  for (const [answerId, one] of running.value) {
    if (one.conversationId !== conversationId) continue;
    one.abort.abort();
    stopChat(answerId).catch(() => undefined); // else it ends soon, because no page reads it
  }
}

/** Conversations with answers that some tab has followed. */
export function noted(): readonly string[] {
  try {
    const stored: unknown = JSON.parse(localStorage.getItem(KEY) ?? "[]");
    return Array.isArray(stored) ? stored.filter((id) => typeof id === "string") : [];
  } catch {
    return []; // storage is forbidden or has invalid content
  }
}

function note(ids: readonly string[]): void {
  try {
    localStorage.setItem(KEY, JSON.stringify([...new Set(ids)]));
  } catch {
    // storage is forbidden, so conversations end with the page anyway
  }
}
