// Merges a client's messages with a stored conversation: tool turns hidden from the client are inserted again. Pure.
// At the first difference the client's version counts. No message is marked as hidden, so exports of other servers can be read. Texts that
// svc adds at the head (files, skills) are not stored. Without a session's name only a conversation that is continued whole is found.

import type { InputMessage } from "../core/agent.ts";
import { hasFile, hasMedia, inputText } from "../core/input-file.ts";
import { isFraming, isSame, isToolTurn } from "./compare.ts";

/** Common prefix of a stored and a sent conversation. */
interface Match {
  /** Common prefix: stored messages with hidden tool turns; messages with files or media as sent. */
  readonly common: readonly InputMessage[];
  /** Sent messages after the prefix. */
  readonly rest: readonly InputMessage[];
  /** Whether the prefix is the whole stored conversation. */
  readonly isWhole: boolean;
}

/** Walks both conversations, without framing messages. */
function match(stored: readonly InputMessage[], sent: readonly InputMessage[]): Match {
  const common: InputMessage[] = [];
  let hidden: InputMessage[] = []; // tool turns since the last common message
  let at = 0;
  for (const message of stored) {
    const next = sent[at];
    if (next === undefined) return { common, rest: [], isWhole: false };
    if (isSame(message, next, hiddenText(hidden))) {
      common.push(...hidden, hasNonText(next) ? next : message);
      hidden = [];
      at++;
    } else if (isToolTurn(message)) hidden.push(message);
    else return { common, rest: sent.slice(at), isWhole: false };
  }
  const isContinued = at < sent.length;
  return { common: isContinued ? [...common, ...hidden] : common, rest: sent.slice(at), isWhole: true };
}

/** Whether a message has files or media; then the sent message replaces the stored one. */
function hasNonText(message: InputMessage): boolean {
  return hasFile(message) || hasMedia(message);
}

function hiddenText(hidden: readonly InputMessage[]): string {
  return hidden
    .filter(({ role }) => role === "assistant")
    .map(inputText)
    .join("");
}

/**
 * Full conversation of a known session. Sent messages without an assistant message that do not start like the stored ones
 * are appended; all others replace the conversation, as the client truncated or edited it.
 */
export function splice(
  stored: readonly InputMessage[],
  sent: readonly InputMessage[],
): readonly InputMessage[] {
  const [storedFrame, storedTalk] = split(stored);
  const [sentFrame, sentTalk] = split(sent);
  const frame = sentFrame.length > 0 ? sentFrame : storedFrame;
  if (isNewEnd(storedTalk, sentTalk)) return [...frame, ...storedTalk, ...sentTalk];
  const { common, rest } = match(storedTalk, sentTalk);
  return [...sentFrame, ...common, ...rest];
}

function isNewEnd(stored: readonly InputMessage[], sent: readonly InputMessage[]): boolean {
  const [first] = stored;
  const [next] = sent;
  if (first === undefined || next === undefined) return true;
  return sent.every(({ role }) => role !== "assistant") && !isSame(first, next);
}

/** Splits off the framing messages at the start. */
export function split(
  messages: readonly InputMessage[],
): readonly [readonly InputMessage[], readonly InputMessage[]] {
  const first = messages.findIndex((message) => !isFraming(message));
  const end = first === -1 ? messages.length : first;
  return [messages.slice(0, end), messages.slice(end)];
}

/**
 * Number of stored messages that a conversation without a session id continues: the whole session, with at least one
 * assistant message, so that conversations with equal first messages are not merged. 0 for another conversation.
 */
export function continuedLength(stored: readonly InputMessage[], sent: readonly InputMessage[]): number {
  const { common, isWhole, rest } = match(split(stored)[1], split(sent)[1]);
  const isAnswered = common.some((message) => message.role === "assistant" && !isToolTurn(message));
  return isWhole && isAnswered && rest.length > 0 ? common.length : 0;
}
