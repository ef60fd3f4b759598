// Converts a conversation to the body of a chat completion request. Pure.

import { bySamplingName } from "../../src/core/sampling.ts";
import {
  type Attachment,
  type Conversation,
  type Excerpt,
  type Message,
  answerText,
  sentMessages,
} from "./conversation.ts";
import { mediaTypeOf } from "./media-types.ts";
import { type ModelCard, takes } from "./model-card.ts";
import { excerptText, type FileText, fileBudget, fileTexts } from "./text-files.ts";

type Body = Readonly<Record<string, unknown>>;

/** Body of the request for an answer to the last message of the thread; `card`: that of the requested model. */
export function chatRequest(conversation: Conversation, card?: ModelCard): Body {
  const { model, session, settings } = conversation;
  const { max_tokens, seed } = settings;
  const stop = settings.stop.split("\n").filter((line) => line !== "");
  return {
    ...(model === "" ? {} : { model }),
    messages: chatMessages(conversation, card),
    stream: true,
    return_progress: true,
    ...present({ ...bySamplingName((name) => settings[name]), max_tokens, seed }),
    ...(stop.length === 0 ? {} : { stop }),
    ...(settings.reasoning === "" ? {} : { reasoning_effort: settings.reasoning }),
    ...(settings.python ? { tools: [{ type: "code_interpreter" }] } : {}),
    ...(settings.shell ? { enable_shell: true } : {}),
    ...(settings.search ? { web_search_options: {} } : {}),
    ...(settings.permission === "" ? {} : { agent_permission: settings.permission }),
    ...(session === null ? {} : { session_id: session }),
  };
}

function chatMessages(conversation: Conversation, card: ModelCard | undefined): readonly Body[] {
  const { python, shell } = conversation.settings;
  const system = systemText(conversation);
  const instructions = system === "" ? [] : [{ role: "system", content: system }];
  const how = { card, hasTools: python || shell };
  return [...instructions, ...sentMessages(conversation).flatMap((message) => chatMessage(message, how))];
}

/** The system prompt, with the summary of what is not sent. */
export function systemText({ settings, cut }: Conversation): string {
  const summary = cut === undefined || cut.summary === "" ? [] : [`${SUMMARY_TITLE}\n\n${cut.summary}`];
  return [settings.system.trim() === "" ? "" : settings.system, ...summary]
    .filter((part) => part !== "")
    .join("\n\n");
}

const SUMMARY_TITLE = "Summary of the conversation so far:";

interface SendOptions {
  readonly card: ModelCard | undefined;
  /** The model can open files by itself. */
  readonly hasTools: boolean;
}

/** Wire messages of a message. Answers without text (failed or stopped early) are omitted. */
function chatMessage(message: Message, { card, hasTools }: SendOptions): readonly Body[] {
  if (message.role === "assistant") {
    const content = answerText(message);
    return content === "" ? [] : [{ role: "assistant", content }];
  }
  const { text, attachments, excerpts = [] } = message;
  if (attachments.length === 0 && excerpts.length === 0) return [{ role: "user", content: text }];
  const written = text === "" ? [] : [{ type: "text", text }];
  const texts = fileTexts(attachments, fileBudget(card), excerpts);
  const parts = attachments.flatMap((file, i) => {
    const content = texts[i];
    const pages = pageParts(file, card);
    // With tools the file itself lies in their folder. The server shows the model the beginning of texts, but nothing of documents.
    const asFile =
      hasTools || (content === undefined && pages.length === 0) ? [attachmentPart(file, card)] : [];
    const isShown = content !== undefined && (!hasTools || file.text !== undefined);
    return [...asFile, ...pages, ...(isShown ? [textPart(file, content)] : [])];
  });
  const names = new Set(attachments.map(({ name }) => name));
  const earlier = excerpts.filter(({ file }) => !names.has(file)).map(laterPart);
  return [{ role: "user", content: [...parts, ...earlier, ...written] }];
}

/** The pages of a PDF as images, for a model that sees. */
function pageParts({ images = [] }: Attachment, card: ModelCard | undefined): readonly Body[] {
  if (takes(card, "image") !== true) return [];
  return images.map((url) => ({ type: "image_url", image_url: { url } }));
}

/** Passages of a file of an earlier question. */
function laterPart(excerpt: Excerpt): Body {
  return { type: "text", text: `More of file ${excerpt.file}:\n\n${excerptText(excerpt)}\n\n` };
}

/**
 * Sends images, audio and videos as media parts. For a model known not to accept them, sends them as files: the model gets their
 * names, and tools can read them. If the modalities are unknown, the server decides.
 */
function attachmentPart(file: Attachment, card: ModelCard | undefined): Body {
  const { name, data } = file;
  const type = mediaTypeOf(file);
  if (type === undefined || takes(card, type.modality) === false)
    return { type: "file", file: { filename: name, file_data: data } };
  if (type.modality === "image") return { type: "image_url", image_url: { url: data } };
  if (type.modality === "video") return { type: "video_url", video_url: { url: data } };
  const base64 = data.slice(data.indexOf(",") + 1);
  return { type: "input_audio", input_audio: { data: base64, format: type.format } };
}

/** The text of a file: the server would pass on its beginning only. */
function textPart({ name }: Attachment, { text, total, passages }: FileText): Body {
  const first = text.length < total ? ` (the first ${text.length} of ${total} characters)` : "";
  const extent =
    passages === undefined ? first : ` (${passages.sent} of its ${passages.total} passages, by relevance)`;
  return { type: "text", text: `File ${name}${extent}:\n\n${text}\n\n` };
}

function present(fields: Readonly<Record<string, number | null>>): Body {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== null));
}
