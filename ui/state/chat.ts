// User actions in a conversation: ask, regenerate, continue, edit a question, decide on an approval. Follows running answers.

import { signal } from "@preact/signals";
import { answerEvents } from "../api/answer-events.ts";
import type { ChatRequest } from "../api/chat.ts";
import type { ChatEvent } from "../api/chat-events.ts";
import { ApiError, messageOf, send } from "../api/client.ts";
import { CONNECTION_LOST } from "../api/read-events.ts";
import { withDecision, applyEvent, expireApprovals, withDecisionsOf } from "./answer.ts";
import {
  append,
  type AssistantMessage,
  type Attachment,
  changeAnswer,
  changeQuestion,
  type Conversation,
  runningAnswers,
  thread,
  type UserMessage,
} from "./conversation.ts";
import { createFromDraft, change, conversationOf, notifyTabs, save } from "./conversations.ts";
import { DRAFT, takeQueued, unqueue } from "./drafts.ts";
import { cardOf } from "./model-card.ts";
import { models } from "./models.ts";
import { newId } from "./new-id.ts";
import { excerptsFor, needsPassages } from "./passages.ts";
import { chatRequest } from "./request.ts";
import { isFollowed, isRunning, markEnded, markLost, markRunning } from "./running.ts";
import { fileBudget } from "./text-files.ts";
import { dropOldest } from "./ways-out.ts";
import { t } from "../texts/texts.ts";

/** Interval at which coalesced events are rendered, milliseconds. */
const RENDER_MS = 40;

/** Text for screen readers, which should not read every delta of an answer. */
export const announcement = signal("");

/** Questions that this tab has asked: at each one the thread shows its end. */
export const asked = signal(0);

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
  asked.value++;
  const budget = fileBudget(cardOf(models.value ?? [], before.model));
  const { text, attachments } = message;
  const search = { question: text, attachments, conversation: { ...before, leaf: message.parent }, budget };
  const { python, shell } = before.settings;
  if (!python && !shell && needsPassages(search)) {
    announcement.value = t.chat.searchingFiles;
    const excerpts = await excerptsFor(search);
    change(id, (conversation) => changeQuestion(conversation, { ...message, excerpts }));
  }
  await answer(id);
}

/** Requests an answer to a question that has none. */
export function answerQuestion(conversationId: string): void {
  void answer(conversationId);
}

/** Requests another answer to the same question. */
export function regenerate(conversationId: string, message: AssistantMessage): void {
  change(conversationId, (conversation) => ({ ...withUpdateTime(conversation), leaf: message.parent }));
  void answer(conversationId);
}

/** Leaves out the oldest messages, and requests the answer that was refused because the conversation was too long. */
export function askShorter(conversationId: string, message: AssistantMessage): void {
  change(conversationId, (conversation) => ({ ...conversation, leaf: message.parent }));
  if (dropOldest(conversationId)) void answer(conversationId);
  else change(conversationId, (conversation) => ({ ...conversation, leaf: message.id }));
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

/** Continues a cut answer as another version of it. */
export function continueAnswer(conversationId: string, message: AssistantMessage): void {
  change(conversationId, (conversation) => ({ ...withUpdateTime(conversation), leaf: message.id }));
  void answer(conversationId, message);
}

/**
 * Follows the running answers of a conversation that was loaded, or that another tab has changed. That tab may not have sent its
 * request yet, so it reports that there is no such run, and asks the question that waits.
 */
export function resume(conversation: Conversation, from: "storage" | "tab"): void {
  const { id } = conversation;
  const isOurs = from === "storage";
  const left = runningAnswers(conversation);
  for (const message of left) if (!isFollowed(message.id)) void follow(id, message.id, { isOurs });
  if (isOurs && left.length === 0 && !isRunning(id)) void unqueue(id);
}

/** Follows an answer again whose connection was lost. */
export function fetchAgain(conversationId: string, message: AssistantMessage): void {
  void follow(conversationId, message.id);
}

interface FollowOptions {
  /** Requests the answer; absent: it was requested before. */
  readonly request?: ChatRequest;
  /** Whether this tab reports an answer that the server does not have. */
  readonly isOurs?: boolean;
}

/** Requests an answer to the last message of the thread, or the rest of a cut one. */
async function answer(id: string, cut?: AssistantMessage): Promise<void> {
  const conversation = conversationOf(id);
  if (conversation === undefined || isRunning(id)) return;
  const body = chatRequest(conversation, cardOf(models.value ?? [], conversation.model));
  const message = emptyAnswer(conversation, cut);
  change(id, (before) => append(before, message));
  void save(id); // now, so that a page that is loaded again can follow it
  const whole = cut === undefined ? body : { ...body, continue_final_message: true };
  const mcpOff = conversation.settings.mcp_off ?? [];
  await follow(id, message.id, { request: { body: whole, mcpOff } });
}

/** Follows an answer to its end. */
async function follow(
  id: string,
  messageId: string,
  { request, isOurs = true }: FollowOptions = {},
): Promise<void> {
  const abort = new AbortController();
  const { signal } = abort;
  const onLost = (): void => markLost(messageId, true);
  markRunning(messageId, id, abort);
  announcement.value = t.chat.answering;
  try {
    await show(
      id,
      messageId,
      answerEvents({ runId: messageId, ...(request && { request }), signal, onLost }),
    );
  } catch (error) {
    if (!isOurs && isGone(error)) return markEnded(messageId);
    changeMessage(id, messageId, (before) => ended(before, signal, error));
  }
  markEnded(messageId);
  changeMessage(id, messageId, (before) => expireApprovals(withoutBase(before)));
  announcement.value = isDone(id, messageId) ? t.chat.complete : ""; // an error is an alert of its own
  await save(id);
  await askQueued(id, messageId);
}

function isDone(id: string, answerId: string): boolean {
  const answered = conversationOf(id)?.messages.find((message) => message.id === answerId);
  return answered?.role === "assistant" && answered.state === "done";
}

/** Asks the queued question after a complete answer; after another one it goes back to the composer. */
async function askQueued(id: string, answerId: string): Promise<void> {
  if (isRunning(id)) return; // another answer of the same conversation
  if (!isDone(id, answerId)) return unqueue(id);
  const queued = await takeQueued(id);
  notifyTabs(id);
  if (queued !== undefined) ask(id, queued.text, queued.attachments);
}

/** Reads the stream of an answer to its end and renders it in coalesced updates. */
async function show(id: string, messageId: string, events: AsyncIterable<ChatEvent>): Promise<void> {
  const startMs = performance.now();
  let answered = answerOf(id, messageId); // not read from the conversation again: other tabs change that, too
  let pending: ChatEvent[] = [];
  let timer: ReturnType<typeof setTimeout> | undefined;
  let begins = 0;
  const flush = (): void => {
    timer = undefined;
    const group = pending;
    pending = [];
    if (answered === undefined) return;
    const after = (answered = group.reduce(applyEvent, answered));
    changeMessage(id, messageId, (before) => withDecisionsOf(after, before));
    const session = group.find((event) => event.type === "session");
    if (session !== undefined) change(id, (conversation) => ({ ...conversation, session: session.id }));
  };
  const noteFirstToken = (): void => {
    if (begins === 1 && answered?.firstTokenMs === undefined && answered?.parts.length === 0)
      answered = { ...answered, firstTokenMs: performance.now() - startMs };
  };
  try {
    for await (const event of events) {
      if (event.type === "begin") {
        begins++;
        markLost(messageId, false);
      }
      if (event.type === "text" || event.type === "reasoning") noteFirstToken();
      pending.push(event);
      timer ??= setTimeout(flush, RENDER_MS);
    }
  } finally {
    clearTimeout(timer);
    flush();
  }
}

function answerOf(id: string, messageId: string): AssistantMessage | undefined {
  const found = conversationOf(id)?.messages.find((message) => message.id === messageId);
  return found?.role === "assistant" ? found : undefined;
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
  return { ...answer, state: "failed", error: isGone(error) ? t.errors.gone : messageOf(error), code };
}

function isGone(error: unknown): boolean {
  return error instanceof ApiError && error.code === "run_not_found";
}

/** An answer that has ended needs no parts to begin from, unless it may be fetched again. */
function withoutBase(answer: AssistantMessage): AssistantMessage {
  const { base: _, ...rest } = answer;
  return answer.code === CONNECTION_LOST ? answer : rest;
}

function userMessage(parent: string | null, text: string, attachments: readonly Attachment[]): UserMessage {
  return { id: newId(), parent, role: "user", text, attachments: [...attachments] };
}

function emptyAnswer(conversation: Conversation, cut: AssistantMessage | undefined): AssistantMessage {
  const parent = cut === undefined ? (thread(conversation).at(-1)?.id ?? null) : cut.parent;
  const base = cut === undefined ? {} : { base: cut.parts };
  const { model } = conversation;
  return {
    id: newId(),
    parent,
    role: "assistant",
    model,
    parts: cut?.parts ?? [],
    state: "running",
    ...base,
  };
}

function withUpdateTime(conversation: Conversation): Conversation {
  return { ...conversation, updated: Date.now() };
}
