// What people do in a conversation: ask, stop, ask again, edit, decide.

import { signal } from "@preact/signals";
import { streamChat } from "../api/chat.ts";
import type { ChatEvent } from "../api/chat-events.ts";
import { ApiError, messageOf, send } from "../api/client.ts";
import { decide, grow, settle } from "./answer.ts";
import {
  append,
  type AssistantMessage,
  type Attachment,
  changeAnswer,
  type Conversation,
  thread,
  type UserMessage,
} from "./conversation.ts";
import { begin, change, conversationOf, DRAFT, save } from "./conversations.ts";
import { cardOf } from "./model-card.ts";
import { models } from "./models.ts";
import { newId } from "./new-id.ts";
import { chatRequest } from "./request.ts";
import { begins, ends, isRunning } from "./running.ts";

/** Events are shown in groups, this far apart: many a second would only make the page slow. Milliseconds. */
const SHOW_MS = 40;

/** What a screen reader is told; it would not want every word of an answer as it comes. */
export const announcement = signal("");

/** Says something in a conversation, or begins one, and lets it be answered. */
export function ask(conversationId: string, text: string, attachments: readonly Attachment[]): void {
  const id = conversationId === DRAFT ? begin() : conversationId;
  change(id, (conversation) =>
    append(touched(conversation), userMessage(conversation.leaf, text, attachments)),
  );
  void answer(id);
}

/** Asks differently: the old question and what followed stay as an alternative. */
export function editQuestion(conversationId: string, question: UserMessage, text: string): void {
  change(conversationId, (conversation) =>
    append(touched(conversation), userMessage(question.parent, text, question.attachments)),
  );
  void answer(conversationId);
}

/** Another answer to the same question. */
export function regenerate(conversationId: string, message: AssistantMessage): void {
  change(conversationId, (conversation) => ({ ...touched(conversation), leaf: message.parent }));
  void answer(conversationId);
}

/** Tells the server a person's decision. Throws ApiError. */
export async function answerApproval(
  conversationId: string,
  message: AssistantMessage,
  approvalId: string,
  decision: { readonly decision: "approve" | "deny"; readonly message?: string; readonly remember: boolean },
): Promise<void> {
  const { remember, ...body } = decision;
  const note = (outcome: "approve" | "deny" | "expired") =>
    change(conversationId, (conversation) =>
      changeAnswer(conversation, message.id, (before) => decide(before, approvalId, outcome)),
    );
  try {
    await send(`v1/agent/approvals/${encodeURIComponent(approvalId)}`, {
      method: "POST",
      body: { ...body, remember_for_session: remember },
    });
    note(decision.decision);
  } catch (error) {
    if (!(error instanceof ApiError && error.status === 404)) throw error;
    note("expired");
  }
}

/** Lets the last shown message be answered. */
async function answer(id: string): Promise<void> {
  const conversation = conversationOf(id);
  if (conversation === undefined || isRunning(id)) return;
  const body = chatRequest(conversation, cardOf(models.value ?? [], conversation.model));
  const message = emptyAnswer(conversation);
  const abort = new AbortController();
  change(id, (before) => append(before, message));
  void save(id); // whatever happens to the page, the question is kept
  begins(id, abort);
  announcement.value = "The model is answering.";
  try {
    await follow(id, message.id, streamChat(body, abort.signal));
  } catch (error) {
    changeMessage(id, message.id, (before) => ended(before, abort.signal, error));
  } finally {
    ends(id);
    changeMessage(id, message.id, settle);
    announcement.value = "The answer is complete.";
    await save(id);
  }
}

/** Reads an answer to its end and shows it in groups of events. */
async function follow(id: string, messageId: string, events: AsyncIterable<ChatEvent>): Promise<void> {
  const startMs = performance.now();
  let waiting: ChatEvent[] = [];
  let timer: ReturnType<typeof setTimeout> | undefined;
  let firstTokenMs: number | undefined;
  const flush = (): void => {
    timer = undefined;
    const group = waiting;
    waiting = [];
    changeMessage(id, messageId, (before) => {
      const after = group.reduce(grow, before);
      return firstTokenMs === undefined ? after : { ...after, firstTokenMs };
    });
    const session = group.find((event) => event.type === "session");
    if (session !== undefined) change(id, (conversation) => ({ ...conversation, session: session.id }));
  };
  try {
    for await (const event of events) {
      if (event.type === "text" || event.type === "reasoning") firstTokenMs ??= performance.now() - startMs;
      waiting.push(event);
      timer ??= setTimeout(flush, SHOW_MS);
    }
  } finally {
    clearTimeout(timer);
    flush();
  }
}

function changeMessage(
  id: string,
  messageId: string,
  how: (answer: AssistantMessage) => AssistantMessage,
): void {
  change(id, (conversation) => changeAnswer(conversation, messageId, how));
}

function ended(answer: AssistantMessage, signal: AbortSignal, error: unknown): AssistantMessage {
  if (signal.aborted) return { ...answer, state: "stopped" };
  return { ...answer, state: "failed", error: messageOf(error) };
}

function userMessage(parent: string | null, text: string, attachments: readonly Attachment[]): UserMessage {
  return { id: newId(), parent, role: "user", text, attachments: [...attachments] };
}

function emptyAnswer(conversation: Conversation): AssistantMessage {
  const parent = thread(conversation).at(-1)?.id ?? null;
  return { id: newId(), parent, role: "assistant", model: conversation.model, parts: [], state: "running" };
}

function touched(conversation: Conversation): Conversation {
  return { ...conversation, updated: Date.now() };
}
