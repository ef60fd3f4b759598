// A chat as a file: the body of a request to /v1/chat/completions, so that the server, and other tools, can go on with it.

import { readFileSync, writeFileSync } from "node:fs";
import type { FilePart, InputMessage } from "../../core/agent.ts";
import type { ContentPart } from "../../core/message.ts";
import type { ChatState } from "./conversation.ts";

/** Writes a new file, for its owner alone. Throws a sentence for people. */
export function saveChat(file: string, { model, system, messages, sampling }: ChatState): void {
  const head = system === undefined ? [] : [{ role: "system", content: system }];
  const body = {
    model,
    messages: [...head, ...messages.map(({ role, content }) => ({ role, content: toWire(content) }))],
    temperature: sampling.temperature,
    top_k: sampling.topK,
    top_p: sampling.topP,
  };
  try {
    writeFileSync(file, `${JSON.stringify(body, null, 2)}\n`, { flag: "wx", mode: 0o600 });
  } catch (error) {
    if (error instanceof Error && "code" in error && error.code === "EEXIST")
      throw new Error(`${file} exists already; choose another name`, { cause: error });
    throw error;
  }
}

/** What a saved chat brings back. */
export interface LoadedChat {
  readonly system: string | undefined;
  readonly messages: readonly InputMessage[];
}

/** Reads a saved chat. Throws a sentence for people. */
export function loadChat(file: string): LoadedChat {
  const text = readFileSync(file, "utf8");
  let body: unknown;
  try {
    body = JSON.parse(text);
  } catch (cause) {
    throw new Error(`${file} is not a saved chat: it is no JSON`, { cause });
  }
  const list = isRecord(body) ? body["messages"] : undefined;
  if (!Array.isArray(list)) throw new Error(`${file} is not a saved chat: it has no list "messages"`);
  const messages = list.map((message, index) => fromWire(message, `messages[${index}] of ${file}`));
  const [first] = messages;
  const system = first?.role === "system" ? textOf(first) : undefined;
  return { system, messages: system === undefined ? messages : messages.slice(1) };
}

type Part = ContentPart | FilePart;

function toWire(content: readonly Part[]): unknown {
  const [only] = content;
  if (content.length === 1 && only?.type === "text") return only.text;
  return content.map((part) => {
    if (part.type !== "file") return part;
    const { source } = part;
    if (source.type !== "inline") return { type: "file", file: { filename: part.param } };
    return { type: "file", file: { filename: part.param, file_data: source.data } };
  });
}

function fromWire(message: unknown, where: string): InputMessage {
  const role = isRecord(message) ? message["role"] : undefined;
  const content = isRecord(message) ? message["content"] : undefined;
  if (role !== "user" && role !== "assistant" && role !== "system")
    throw new Error(`${where}: role must be user, assistant or system`);
  if (typeof content === "string") return { role, content: [{ type: "text", text: content }] };
  if (!Array.isArray(content)) throw new Error(`${where}: content must be a text or a list of parts`);
  return { role, content: content.map((part, index) => partFromWire(part, `${where}, part ${index}`)) };
}

function partFromWire(part: unknown, where: string): Part {
  if (isRecord(part) && part["type"] === "text" && typeof part["text"] === "string")
    return { type: "text", text: part["text"] };
  const file = isRecord(part) && part["type"] === "file" ? part["file"] : undefined;
  if (!isRecord(file) || typeof file["file_data"] !== "string")
    throw new Error(`${where} must be a text, or a file with file_data`);
  const filename = typeof file["filename"] === "string" ? file["filename"] : "file";
  return { type: "file", source: { type: "inline", data: file["file_data"], filename }, param: filename };
}

function textOf({ content }: InputMessage): string {
  return content.map((part) => (part.type === "text" ? part.text : "")).join("");
}

function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
