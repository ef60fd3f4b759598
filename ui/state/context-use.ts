// What fills a model's context, estimated from characters and the figures of the last answer. Pure.

import {
  type Conversation,
  answerText,
  type Message,
  sentMessages,
  type UserMessage,
} from "./conversation.ts";
import type { Draft } from "./drafts.ts";
import type { ModelCard } from "./model-card.ts";
import { systemText } from "./request.ts";
import { fileBudget, fileTexts } from "./text-files.ts";

/** Characters of a token, about; corrected by the figures of the last answer. */
const TOKEN_CHARS = 3.5;
/** Tokens of an image, about. */
const IMAGE_TOKENS = 800;
/** How far the figures may correct an estimate. */
const CORRECTION_MAX = 3;

export type ContextPart = "system" | "tools" | "files" | "texts" | "typed";

export interface ContextUse {
  /** Tokens of the last answer and all before it, as the server counted them; estimated after a cut. */
  readonly used: number;
  /** Tokens with what is typed. */
  readonly next: number;
  /** Shares of `next`, in tokens. */
  readonly parts: readonly { readonly name: ContextPart; readonly tokens: number }[];
}

export function contextUse(
  conversation: Conversation,
  draft: Draft,
  card: ModelCard | undefined,
): ContextUse {
  const messages = sentMessages(conversation);
  const counted = countedTokens(conversation, messages);
  const system = systemText(conversation).length / TOKEN_CHARS;
  const files = sum(messages, (message) => fileTokens(message, card));
  const texts = sum(messages, (message) => textOf(message).length / TOKEN_CHARS);
  const { python, shell, search } = conversation.settings;
  const hasTools = python || shell || search;
  const estimated = system + files + texts;
  const factor = counted === undefined || hasTools ? 1 : correction(counted / Math.max(1, estimated));
  const tools = hasTools && counted !== undefined ? Math.max(0, counted - estimated) : 0;
  const used = counted ?? estimated;
  const attachments = [...draft.attachments];
  const question: UserMessage = { id: "", parent: null, role: "user", text: draft.text, attachments };
  const typed = (draft.text.length / TOKEN_CHARS) * factor + fileTokens(question, card);
  const parts: ContextUse["parts"] = [
    { name: "system", tokens: system * factor },
    { name: "tools", tokens: tools },
    { name: "files", tokens: files * factor },
    { name: "texts", tokens: texts * factor },
    { name: "typed", tokens: typed },
  ];
  return { used, next: used + typed, parts: parts.filter(({ tokens }) => tokens >= 1) };
}

/** Tokens that the server counted; undefined where it has not, or where the beginning was cut since. */
function countedTokens({ cut }: Conversation, messages: readonly Message[]): number | undefined {
  const at = messages.findLastIndex(
    (message) => message.role === "assistant" && message.figures !== undefined,
  );
  const last = messages[at];
  if (last?.role !== "assistant" || last.figures === undefined) return undefined;
  if (at <= messages.findIndex(({ id }) => id === cut?.at)) return undefined;
  return last.figures.promptTokens + last.figures.completionTokens;
}

/** The first question of the rest that fills at most a share of the context; undefined if there is nothing to cut. */
export function cutAt(
  conversation: Conversation,
  card: ModelCard | undefined,
  share: number,
): UserMessage | undefined {
  const messages = sentMessages(conversation);
  const max = (card?.context_length ?? 0) * share;
  const questions = messages.filter((message) => message.role === "user");
  const fits = (from: Message): boolean =>
    sum(messages.slice(messages.indexOf(from)), (one) => tokensOf(one, card)) <= max;
  const [, ...others] = questions;
  return others.find(fits) ?? others.at(-1);
}

function tokensOf(message: Message, card: ModelCard | undefined): number {
  return textOf(message).length / TOKEN_CHARS + fileTokens(message, card);
}

function fileTokens(message: Message, card: ModelCard | undefined): number {
  if (message.role === "assistant") return 0;
  const { attachments, excerpts = [] } = message;
  const texts = fileTexts(attachments, fileBudget(card), excerpts);
  const chars = texts.reduce((total, content) => total + (content?.text.length ?? 0), 0);
  const images = attachments.reduce(
    (total, { mime, images: pages = [] }) => total + (mime.startsWith("image/") ? 1 : pages.length),
    0,
  );
  return chars / TOKEN_CHARS + images * IMAGE_TOKENS;
}

function textOf(message: Message): string {
  return message.role === "user" ? message.text : answerText(message);
}

function correction(factor: number): number {
  return Math.min(CORRECTION_MAX, Math.max(1 / CORRECTION_MAX, factor));
}

function sum(messages: readonly Message[], of: (message: Message) => number): number {
  return messages.reduce((total, message) => total + of(message), 0);
}
