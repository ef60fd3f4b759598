// A conversation → the body of the request that asks for the next answer. Pure.

import { type Attachment, type Conversation, type Message, spokenText, thread } from "./conversation.ts";

type Body = Readonly<Record<string, unknown>>;

/** The body that asks for an answer to the last shown message. */
export function chatRequest(conversation: Conversation): Body {
  const { model, session, settings } = conversation;
  const { temperature, top_p, top_k, min_p, max_tokens, seed } = settings;
  const { presence_penalty, frequency_penalty, repetition_penalty } = settings;
  const drawn = { temperature, top_p, top_k, min_p, max_tokens, seed };
  const penalties = { presence_penalty, frequency_penalty, repetition_penalty };
  const stop = settings.stop.split("\n").filter((line) => line !== "");
  return {
    ...(model === "" ? {} : { model }),
    messages: chatMessages(settings.system, thread(conversation)),
    stream: true,
    ...present({ ...drawn, ...penalties }),
    ...(stop.length === 0 ? {} : { stop }),
    ...(settings.reasoning === "" ? {} : { reasoning_effort: settings.reasoning }),
    ...(settings.python ? { tools: [{ type: "code_interpreter" }] } : {}),
    ...(settings.shell ? { enable_shell: true } : {}),
    ...(settings.search ? { web_search_options: {} } : {}),
    ...(settings.permission === "" ? {} : { agent_permission: settings.permission }),
    ...(session === null ? {} : { session_id: session }),
  };
}

function chatMessages(system: string, messages: readonly Message[]): readonly Body[] {
  const instructions = system.trim() === "" ? [] : [{ role: "system", content: system }];
  return [...instructions, ...messages.flatMap(chatMessage)];
}

/** An answer that says nothing (it failed, or was stopped early) is left out. */
function chatMessage(message: Message): readonly Body[] {
  if (message.role === "assistant") {
    const content = spokenText(message);
    return content === "" ? [] : [{ role: "assistant", content }];
  }
  const { text, attachments } = message;
  if (attachments.length === 0) return [{ role: "user", content: text }];
  const written = text === "" ? [] : [{ type: "text", text }];
  return [{ role: "user", content: [...attachments.map(attachmentPart), ...written] }];
}

/** Images and sounds go as what they are: a model that takes them gets them, another's server says that it does not. */
function attachmentPart({ name, mime, data }: Attachment): Body {
  if (mime.startsWith("image/")) return { type: "image_url", image_url: { url: data } };
  if (mime.startsWith("audio/")) {
    const base64 = data.slice(data.indexOf(",") + 1);
    return { type: "input_audio", input_audio: { data: base64, format: audioFormat(mime) } };
  }
  return { type: "file", file: { filename: name, file_data: data } };
}

function audioFormat(mime: string): string {
  return mime === "audio/mpeg"
    ? "mp3"
    : mime
        .replace("audio/", "")
        .replace(/^(?:x-|vnd\.)/, "")
        .replace("wave", "wav");
}

function present(fields: Readonly<Record<string, number | null>>): Body {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== null));
}
