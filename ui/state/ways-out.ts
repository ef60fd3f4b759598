// Ways out of a full context: leave out the oldest messages, replace them by a summary, go on in a new conversation.

import { signal } from "@preact/signals";
import { messageOf, sendForJson } from "../api/client.ts";
import { cutAt } from "./context-use.ts";
import { answerText, type Conversation, type Message, thread } from "./conversation.ts";
import { add, change, conversationOf } from "./conversations.ts";
import { cardOf, type ModelCard } from "./model-card.ts";
import { models } from "./models.ts";
import { newId } from "./new-id.ts";
import { systemText } from "./request.ts";
import { go } from "./route.ts";
import { notify } from "./toasts.ts";
import { emptyConversation } from "./transfer.ts";
import { t } from "../texts/texts.ts";

/** Share of the context that messages may keep when the oldest are left out, and when these are summarized. */
const KEPT_SHARE = 0.5;
const SUMMARIZED_SHARE = 0.25;
/** Share of the context that a text to summarize may fill, its characters per token, and the tokens of a summary. */
const SUMMARIZED_MAX = 0.6;
const TOKEN_CHARS = 3;
const SUMMARY_TOKENS = 600;
/** Context of a model that does not say, tokens. */
const CONTEXT_UNKNOWN = 8192;

const INSTRUCTION =
  "Summarize the conversation below for the assistant that continues it: the user's aims, facts, decisions, " +
  "names and numbers, and what is open. Write the summary only, in the language of the conversation.";

/** Conversation that is being summarized. */
export const summarizing = signal<string | undefined>(undefined);

/** Stops sending the oldest messages, which stay in the conversation. False with a notice if there are none. */
export function dropOldest(id: string): boolean {
  const conversation = conversationOf(id);
  const from = conversation && cutAt(conversation, cardFor(conversation), KEPT_SHARE);
  if (from === undefined) {
    notify(t.context.nothingToDrop);
    return false;
  }
  change(id, (before) => ({
    ...before,
    cut: { from: from.id, at: before.leaf, summary: before.cut?.summary ?? "" },
  }));
  return true;
}

/** Sends all messages again. */
export function sendAll(id: string): void {
  change(id, (conversation) => {
    const { cut: _, ...whole } = conversation;
    return whole;
  });
}

/** Replaces the older messages by a summary that the model writes. */
export async function summarizeOldest(id: string): Promise<void> {
  const conversation = conversationOf(id);
  if (conversation === undefined) return;
  const messages = thread(conversation);
  const from = cutAt(conversation, cardFor(conversation), SUMMARIZED_SHARE);
  if (from === undefined) return notify(t.context.nothingToSummarize);
  const older = messages.slice(0, messages.indexOf(from));
  const summary = await summaryOf(conversation, older);
  if (summary === undefined) return;
  change(id, (before) => ({ ...before, cut: { from: from.id, at: before.leaf, summary } }));
}

/** Opens a new conversation that begins with a summary of this one. */
export async function continueElsewhere(id: string): Promise<void> {
  const conversation = conversationOf(id);
  if (conversation === undefined) return;
  const summary = await summaryOf(conversation, thread(conversation));
  if (summary === undefined) return;
  const { model, settings, title, tags = [], folder } = conversation;
  const next = {
    ...emptyConversation(newId(), Date.now()),
    model,
    settings,
    tags,
    ...(folder && { folder }),
  };
  add({ ...next, title: t.chat.continued(title), cut: { from: null, at: null, summary } });
  go({ page: "chat", id: next.id });
}

/** Undefined without one; a notice says why. */
async function summaryOf(
  conversation: Conversation,
  messages: readonly Message[],
): Promise<string | undefined> {
  if (summarizing.value !== undefined) return undefined;
  summarizing.value = conversation.id;
  const tokens = cardFor(conversation)?.context_length ?? CONTEXT_UNKNOWN;
  const earlier = conversation.cut?.summary ? `${systemText(conversation)}\n\n` : "";
  const text = shortened(earlier + transcript(messages), Math.floor(tokens * SUMMARIZED_MAX * TOKEN_CHARS));
  const { model } = conversation;
  try {
    const { choices } = await sendForJson<{ choices: { message: { content: string | null } }[] }>(
      "v1/chat/completions",
      {
        method: "POST",
        body: {
          ...(model === "" ? {} : { model }),
          messages: [{ role: "user", content: `${INSTRUCTION}\n\n${text}` }],
          reasoning_effort: "off",
          max_tokens: Math.min(SUMMARY_TOKENS, Math.floor(tokens / 4)),
        },
      },
    );
    const summary = choices[0]?.message.content?.trim() ?? "";
    if (summary !== "") return summary;
    notify(t.context.noSummary);
  } catch (error) {
    notify(t.context.summaryFailed(messageOf(error)));
  } finally {
    summarizing.value = undefined;
  }
  return undefined;
}

function transcript(messages: readonly Message[]): string {
  return messages
    .map((message) =>
      message.role === "user"
        ? `User: ${[message.text, ...message.attachments.map(({ name }) => `[file ${name}]`)].join("\n")}`
        : `Assistant: ${answerText(message)}`,
    )
    .join("\n\n");
}

/** A text without its middle, if it is too long: a conversation begins with its aim and ends with its state. */
function shortened(text: string, chars: number): string {
  if (text.length <= chars) return text;
  const head = Math.floor(chars / 3);
  return `${text.slice(0, head)}\n[…]\n${text.slice(text.length - (chars - head))}`;
}

function cardFor({ model }: Conversation): ModelCard | undefined {
  return cardOf(models.value ?? [], model);
}
