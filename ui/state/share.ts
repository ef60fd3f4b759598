// A conversation as Markdown. Pure.

import { answerText, type Conversation, type Message, thread } from "./conversation.ts";
import { t } from "../texts/texts.ts";

/** The shown thread as Markdown. */
export function markdownOf(conversation: Conversation): string {
  const { title, settings } = conversation;
  const system =
    settings.system.trim() === "" ? [] : [`> ${settings.system.trim().replaceAll("\n", "\n> ")}`];
  return `${[`# ${title}`, ...system, ...thread(conversation).map(messageText)].join("\n\n")}\n`;
}

function messageText(message: Message): string {
  if (message.role === "assistant") return `## ${t.answer.title}\n\n${answerText(message)}`;
  const files = message.attachments.map(({ name }) => `*${t.share.attached(name)}*`);
  return [`## ${t.question.title}`, ...files, message.text].filter((part) => part !== "").join("\n\n");
}

/** A file name from a title, without its extension. */
export function fileNameOf(title: string): string {
  return (
    title
      .replace(/[^\p{L}\p{N}]+/gu, "-")
      .replaceAll(/^-|-$/g, "")
      .slice(0, 50) || "conversation"
  );
}
