// Joins what a client sent with what the server remembers: tool turns that the client never saw go back to their places.
// Pure.

import type { InputMessage } from "../core/agent.ts";
import { hasFile, hasMedia, inputText } from "../core/input-file.ts";
import { isFraming, isSame, isToolTurn } from "./compare.ts";

/** How far a stored conversation and a sent one are the same. */
interface Match {
  /** The same part: stored messages, hidden tool turns included; those that were sent with files or media as they were sent. */
  readonly common: readonly InputMessage[];
  /** What was sent after it. */
  readonly rest: readonly InputMessage[];
  /** Whether the same part is all that is stored. */
  readonly isWhole: boolean;
}

/** Walks both conversations, framing messages left out. */
function match(stored: readonly InputMessage[], sent: readonly InputMessage[]): Match {
  const common: InputMessage[] = [];
  let hidden: InputMessage[] = []; // tool turns since the last message that both have
  let at = 0;
  for (const message of stored) {
    const next = sent[at];
    if (next === undefined) return { common, rest: [], isWhole: false };
    if (isSame(message, next, saidIn(hidden))) {
      common.push(...hidden, holdsMore(next) ? next : message);
      hidden = [];
      at++;
    } else if (isToolTurn(message)) hidden.push(message);
    else return { common, rest: sent.slice(at), isWhole: false };
  }
  const isContinued = at < sent.length;
  return { common: isContinued ? [...common, ...hidden] : common, rest: sent.slice(at), isWhole: true };
}

/** Whether the words of a message are not all of it, so that what was sent counts and not what is remembered of it. */
function holdsMore(message: InputMessage): boolean {
  return hasFile(message) || hasMedia(message);
}

function saidIn(hidden: readonly InputMessage[]): string {
  return hidden
    .filter(({ role }) => role === "assistant")
    .map(inputText)
    .join("");
}

/**
 * The whole conversation of a known session. Messages without an answer of the model's that begin otherwise than the
 * stored ones are its new end; all others are the conversation as the client knows it, cut or edited as it likes.
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

/** Framing messages at the beginning, and the talk after them. */
export function split(
  messages: readonly InputMessage[],
): readonly [readonly InputMessage[], readonly InputMessage[]] {
  const first = messages.findIndex((message) => !isFraming(message));
  const end = first === -1 ? messages.length : first;
  return [messages.slice(0, end), messages.slice(end)];
}

/**
 * How many stored messages a conversation without a name continues: all of the session's, an answer of the model's among
 * them, so that strangers who begin alike are not joined. 0 when it is another conversation.
 */
export function continued(stored: readonly InputMessage[], sent: readonly InputMessage[]): number {
  const { common, isWhole, rest } = match(split(stored)[1], split(sent)[1]);
  const isAnswered = common.some((message) => message.role === "assistant" && !isToolTurn(message));
  return isWhole && isAnswered && rest.length > 0 ? common.length : 0;
}
