// User actions in a conversation: ask, regenerate, edit a question, decide on an approval.

import { signal } from "@preact/signals";
import { streamChat } from "../api/chat.ts";
import type { ChatEvent } from "../api/chat-events.ts";
import { ApiError, messageOf, send } from "../api/client.ts";
import { withDecision, applyEvent, expireApprovals } from "./answer.ts";
import {
  append,
  type AssistantMessage,
  type Attachment,
  changeAnswer,
  changeQuestion,
  type Conversation,
  thread,
  type UserMessage,
} from "./conversation.ts";
import { createFromDraft, change, conversationOf, DRAFT, save } from "./conversations.ts";
import { takeQueued, unqueue } from "./drafts.ts";
import { cardOf } from "./model-card.ts";
import { models } from "./models.ts";
import { newId } from "./new-id.ts";
import { excerptsFor, needsPassages } from "./passages.ts";
import { chatRequest } from "./request.ts";
import { markRunning, markEnded, isRunning } from "./running.ts";
import { fileBudget } from "./text-files.ts";

/** Interval at which coalesced events are rendered, milliseconds. */
const RENDER_MS = 40;

/** Text for screen readers, which should not read every delta of an answer. */
export const announcement = signal("");

/** Sends a message in a conversation, created from the draft if necessary, and requests the answer. */
export function ask(conversationId: string, text: string, attachments: readonly Attachment[]): void {
  const id = conversationId === DRAFT ? createFromDraft() : conversationId;
  void askAfter(id, (conversation) => userMessage(conversation.leaf, text, attachments));
}

/** Replaces a question; the old one and its answers remain as an alternative. */
export function editQuestion(conversationId: string, question: UserMessage, text: string): void {
  void askAfter(conversationId, () => userMessage(question.parent, text, question.attachments));
}

/** Adds a question, then the passages of its large files, and requests the answer. */
async function askAfter(id: string, question: (conversation: Conversation) => UserMessage): Promise<void> {
  const before = conversationOf(id);
  if (before === undefined) return;
  const message = question(before);
  change(id, (conversation) => append(withUpdateTime(conversation), message));
  const budget = fileBudget(cardOf(models.value ?? [], before.model));
  const { text, attachments } = message;
  const search = { question: text, attachments, conversation: { ...before, leaf: message.parent }, budget };
  const { python, shell } = before.settings;
  if (!python && !shell && needsPassages(search)) {
    announcement.value = "Searching the files.";
    const excerpts = await excerptsFor(search);
    change(id, (conversation) => changeQuestion(conversation, { ...message, excerpts }));
  }
  await answer(id);
}

/** Requests another answer to the same question. */
export function regenerate(conversationId: string, message: AssistantMessage): void {
  change(conversationId, (conversation) => ({ ...withUpdateTime(conversation), leaf: message.parent }));
  void answer(conversationId);
}

/** Sends the user's decision on an approval to the server. Throws ApiError. */
export async function answerApproval(
  conversationId: string,
  message: AssistantMessage,
  approvalId: string,
  decision: { readonly decision: "approve" | "deny"; readonly message?: string; readonly remember: boolean },
): Promise<void> {
  const { remember, ...body } = decision;
  const note = (outcome: "approve" | "deny" | "expired") =>
    change(conversationId, (conversation) =>
      changeAnswer(conversation, message.id, (before) => withDecision(before, approvalId, outcome)),
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

/** Requests an answer to the last message of the thread. */
async function answer(id: string): Promise<void> {
  const conversation = conversationOf(id);
  if (conversation === undefined || isRunning(id)) return;
  const body = chatRequest(conversation, cardOf(models.value ?? [], conversation.model));
  const message = emptyAnswer(conversation);
  const abort = new AbortController();
  change(id, (before) => append(before, message));
  void save(id); // now, so that the question survives a reload
  markRunning(id, abort);
  announcement.value = "The model is answering.";
  try {
    await follow(id, message.id, streamChat(body, abort.signal));
  } catch (error) {
    changeMessage(id, message.id, (before) => ended(before, abort.signal, error));
  } finally {
    markEnded(id);
    changeMessage(id, message.id, expireApprovals);
    announcement.value = "The answer is complete.";
    await save(id);
    askQueued(id, message.id);
  }
}

/** Asks the queued question after a complete answer; after another one it goes back to the composer. */
function askQueued(id: string, answerId: string): void {
  const answered = conversationOf(id)?.messages.find((message) => message.id === answerId);
  if (answered?.role !== "assistant" || answered.state !== "done") return unqueue(id);
  const queued = takeQueued(id);
  if (queued !== undefined) ask(id, queued.text, queued.attachments);
}

/** Reads the stream of an answer to its end and renders it in coalesced updates. */
async function follow(id: string, messageId: string, events: AsyncIterable<ChatEvent>): Promise<void> {
  const startMs = performance.now();
  let pending: ChatEvent[] = [];
  let timer: ReturnType<typeof setTimeout> | undefined;
  let firstTokenMs: number | undefined;
  const flush = (): void => {
    timer = undefined;
    const group = pending;
    pending = [];
    changeMessage(id, messageId, (before) => {
      const after = group.reduce(applyEvent, before);
      return firstTokenMs === undefined ? after : { ...after, firstTokenMs };
    });
    const session = group.find((event) => event.type === "session");
    if (session !== undefined) change(id, (conversation) => ({ ...conversation, session: session.id }));
  };
  try {
    for await (const event of events) {
      if (event.type === "text" || event.type === "reasoning") firstTokenMs ??= performance.now() - startMs;
      pending.push(event);
      timer ??= setTimeout(flush, RENDER_MS);
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
  const code = error instanceof ApiError ? error.code : "";
  return { ...answer, state: "failed", error: messageOf(error), code };
}

function userMessage(parent: string | null, text: string, attachments: readonly Attachment[]): UserMessage {
  return { id: newId(), parent, role: "user", text, attachments: [...attachments] };
}

function emptyAnswer(conversation: Conversation): AssistantMessage {
  const parent = thread(conversation).at(-1)?.id ?? null;
  return { id: newId(), parent, role: "assistant", model: conversation.model, parts: [], state: "running" };
}

function withUpdateTime(conversation: Conversation): Conversation {
  return { ...conversation, updated: Date.now() };
}
