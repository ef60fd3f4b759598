// Merges what two tabs know of a conversation. Messages are only added and answers only grow, so nothing is lost. Pure.

import { withDecisionsOf } from "./answer.ts";
import { type AssistantMessage, type Conversation, type Message, thread } from "./conversation.ts";

/** Whose state of an answer is later, at equal length. */
const STATE_RANK = { running: 0, stopped: 1, failed: 2, done: 3 } as const;

/**
 * All messages of both, with the longer of two states of an answer. Title, model and settings are those of `mine`. The shown thread
 * is that of `mine`, or a continuation of it by the other tab.
 */
export function merged(theirs: Conversation, mine: Conversation): Conversation {
  const own = new Map(mine.messages.map((message) => [message.id, message]));
  const shared = theirs.messages.map((message) => {
    const other = own.get(message.id);
    own.delete(message.id);
    return other === undefined ? message : later(message, other);
  });
  const messages = [...shared, ...own.values()];
  const isContinued = thread({ ...theirs, messages }).some(({ id }) => id === mine.leaf);
  return {
    ...mine,
    updated: Math.max(mine.updated, theirs.updated),
    session: mine.session ?? theirs.session,
    messages,
    leaf: mine.leaf === null || isContinued ? theirs.leaf : mine.leaf,
  };
}

function later(theirs: Message, mine: Message): Message {
  if (theirs === mine) return mine;
  const revisions = (theirs.revision ?? 0) - (mine.revision ?? 0);
  if (revisions !== 0) return revisions > 0 ? theirs : mine;
  if (theirs.role !== "assistant" || mine.role !== "assistant") return mine;
  const more = sizeOf(theirs) - sizeOf(mine) || rankOf(theirs) - rankOf(mine);
  return more > 0 ? withDecisionsOf(theirs, mine) : withDecisionsOf(mine, theirs);
}

/** Grows with every event of an answer. */
function sizeOf({ parts, figures, firstTokenMs }: AssistantMessage): number {
  return JSON.stringify([parts, figures, firstTokenMs]).length;
}

/** An answer that one tab has lost may still run for another. */
function rankOf({ state, code }: AssistantMessage): number {
  return code === "connection_lost" ? STATE_RANK.running : STATE_RANK[state];
}
