// How clients send a file: every dialect, every form of its bytes.

import { postJson } from "../helpers/post.ts";

type Bytes = Uint8Array<ArrayBuffer>;
export type Kind = "image" | "audio" | "document";

/** Sends a file in one form; `name` has the ending by which a document is known. */
export interface Form {
  readonly label: string;
  readonly send: (url: string, bytes: Bytes, name: string) => Promise<Response>;
}

const dataUrl = (bytes: Bytes, type = "application/octet-stream"): string =>
  `data:${type};base64,${bytes.toBase64()}`;
const urlSafe = (bytes: Bytes): string => bytes.toBase64({ alphabet: "base64url", omitPadding: true });

async function uploaded(url: string, bytes: Bytes, name: string): Promise<string> {
  const form = new FormData();
  form.set("purpose", "user_data");
  form.set("file", new File([bytes], name));
  const response = await fetch(`${url}/v1/files`, { method: "POST", body: form });
  return ((await response.json()) as { id: string }).id;
}

const DIALECTS = {
  chat: (url: string, part: object) =>
    postJson(`${url}/v1/chat/completions`, {
      model: "m",
      max_tokens: 2,
      messages: [{ role: "user", content: [part, { type: "text", text: "What is it?" }] }],
    }),
  responses: (url: string, part: object) =>
    postJson(`${url}/v1/responses`, {
      model: "m",
      max_output_tokens: 2,
      input: [{ role: "user", content: [part, { type: "input_text", text: "What is it?" }] }],
    }),
  messages: (url: string, part: object) =>
    postJson(`${url}/v1/messages`, {
      model: "m",
      max_tokens: 2,
      messages: [{ role: "user", content: [part, { type: "text", text: "What is it?" }] }],
    }),
  ollamaChat: (url: string, images: readonly string[]) =>
    postJson(`${url}/api/chat`, {
      model: "m",
      stream: false,
      messages: [{ role: "user", content: "What is it?", images }],
    }),
  ollamaGenerate: (url: string, images: readonly string[]) =>
    postJson(`${url}/api/generate`, { model: "m", stream: false, prompt: "What is it?", images }),
} as const;

const { chat, responses, messages, ollamaChat, ollamaGenerate } = DIALECTS;

const FORMS: Readonly<Record<Kind, readonly Form[]>> = {
  image: [
    {
      label: "chat, data URL",
      send: (url, bytes) => chat(url, { type: "image_url", image_url: { url: dataUrl(bytes, "image/png") } }),
    },
    {
      label: "chat, URL-safe base64",
      send: (url, bytes) =>
        chat(url, { type: "image_url", image_url: { url: `data:image/jpeg;base64,${urlSafe(bytes)}` } }),
    },
    {
      label: "Responses, data URL",
      send: (url, bytes) => responses(url, { type: "input_image", image_url: dataUrl(bytes) }),
    },
    {
      label: "Responses, file id",
      send: async (url, bytes, name) =>
        responses(url, { type: "input_image", file_id: await uploaded(url, bytes, name) }),
    },
    {
      label: "Messages, base64",
      send: (url, bytes) =>
        messages(url, {
          type: "image",
          source: { type: "base64", media_type: "image/webp", data: bytes.toBase64() },
        }),
    },
    {
      label: "Messages, file id",
      send: async (url, bytes, name) =>
        messages(url, { type: "image", source: { type: "file", file_id: await uploaded(url, bytes, name) } }),
    },
    { label: "Ollama chat", send: (url, bytes) => ollamaChat(url, [bytes.toBase64()]) },
    { label: "Ollama generate", send: (url, bytes) => ollamaGenerate(url, [urlSafe(bytes)]) },
  ],
  audio: [
    {
      label: "chat, base64",
      send: (url, bytes) =>
        chat(url, { type: "input_audio", input_audio: { data: bytes.toBase64(), format: "wav" } }),
    },
    {
      label: "chat, data URL",
      send: (url, bytes) =>
        chat(url, { type: "audio_url", audio_url: { url: `data:audio/mpeg;base64,${urlSafe(bytes)}` } }),
    },
    {
      label: "Responses, base64",
      send: (url, bytes) => responses(url, { type: "input_audio", data: bytes.toBase64(), format: "mp3" }),
    },
    { label: "Ollama chat", send: (url, bytes) => ollamaChat(url, [bytes.toBase64()]) },
    { label: "Ollama generate", send: (url, bytes) => ollamaGenerate(url, [bytes.toBase64()]) },
  ],
  document: [
    {
      label: "chat, data URL",
      send: (url, bytes, name) =>
        chat(url, { type: "file", file: { filename: name, file_data: dataUrl(bytes) } }),
    },
    {
      label: "chat, file id",
      send: async (url, bytes, name) =>
        chat(url, { type: "file", file: { file_id: await uploaded(url, bytes, name) } }),
    },
    {
      label: "Responses, base64",
      send: (url, bytes, name) =>
        responses(url, { type: "input_file", filename: name, file_data: urlSafe(bytes) }),
    },
    {
      label: "Responses, file id",
      send: async (url, bytes, name) =>
        responses(url, { type: "input_file", file_id: await uploaded(url, bytes, name) }),
    },
    {
      label: "Messages, base64",
      send: (url, bytes, name) =>
        messages(url, {
          type: "document",
          title: name,
          source: { type: "base64", media_type: "application/pdf", data: bytes.toBase64() },
        }),
    },
    {
      label: "Messages, file id",
      send: async (url, bytes, name) =>
        messages(url, {
          type: "document",
          source: { type: "file", file_id: await uploaded(url, bytes, name) },
        }),
    },
  ],
};

/** The forms in which a file of this kind is sent. */
export function formsOf(kind: Kind): readonly Form[] {
  return FORMS[kind];
}
