// Saved chats: the body of a request to /v1/chat/completions, so that other tools can continue them.

import { readFileSync, writeFileSync } from "node:fs";
import type { FileSource, InputMessage, InputModality, InputPart } from "../../core/agent.ts";
import { unreachable } from "../../core/assert.ts";
import { defined } from "../../core/defined.ts";
import { isObject } from "../../core/json.ts";
import { mediaFile } from "../../core/media-file.ts";
import { bySamplingName, paramOf, type SamplingParams } from "../../core/sampling.ts";
import { codeOf } from "../../core/reason.ts";
import { filePart } from "./attachments.ts";
import { type ChatState, textOf } from "./conversation.ts";

/** Writes a new file with mode 0600. Throws an error with a message for the user. */
export function saveChat(file: string, { model, system, messages, chosen }: ChatState): void {
  const head = system === undefined ? [] : [{ role: "system", content: system }];
  const body = {
    model,
    messages: [...head, ...messages.map(({ role, content }) => ({ role, content: toWire(content) }))],
    ...samplingToWire(chosen),
  };
  try {
    writeFileSync(file, `${JSON.stringify(body, null, 2)}\n`, { flag: "wx", mode: 0o600 });
  } catch (error) {
    if (codeOf(error) === "EEXIST")
      throw new Error(`${file} exists already; choose another name`, { cause: error });
    throw error;
  }
}

/** A loaded chat. */
export interface LoadedChat {
  readonly system: string | undefined;
  readonly messages: readonly InputMessage[];
}

/** Reads a saved chat. Throws an error with a message for the user. */
export function loadChat(file: string): LoadedChat {
  const text = readFileSync(file, "utf8");
  let body: unknown;
  try {
    body = JSON.parse(text);
  } catch (cause) {
    throw new Error(`${file} is not a saved chat: not JSON`, { cause });
  }
  const list = isObject(body) ? body["messages"] : undefined;
  if (!Array.isArray(list)) throw new Error(`${file} is not a saved chat: "messages" is missing`);
  const messages = list.map((message, index) => fromWire(message, `messages[${index}] of ${file}`));
  const [first] = messages;
  const system = first?.role === "system" ? textOf(first.content) : undefined;
  return { system, messages: system === undefined ? messages : messages.slice(1) };
}

/** What the person has set for the draws, as chat completions have it; the rest is as the model's defaults say. */
export function samplingToWire(sampling: Partial<SamplingParams>): object {
  return defined(bySamplingName((name) => sampling[paramOf(name)]));
}

/** The content of a message as chat completions have it. */
export function toWire(content: readonly InputPart[]): unknown {
  const [only] = content;
  if (content.length === 1 && only?.type === "text") return only.text;
  return content.map(partToWire);
}

function partToWire(part: InputPart): unknown {
  switch (part.type) {
    case "text":
      return part;
    case "file":
      return { type: "file", file: { filename: part.param, ...inlineAs("file_data", part.source) } };
    case "media":
      return mediumToWire(part.modality, part.source);
    case "image":
    case "audio":
      return mediumToWire(part.type, { type: "inline", data: part.data });
    default:
      return unreachable(part);
  }
}

function inlineAs(key: string, source: FileSource): Readonly<Record<string, string>> {
  return source.type === "inline" ? { [key]: source.data } : {};
}

function mediumToWire(modality: InputModality, source: FileSource): unknown {
  if (source.type === "remote") return { type: `${modality}_url`, [`${modality}_url`]: { url: source.url } };
  const data = source.type === "inline" ? source.data : "";
  if (modality === "video") return { type: "input_video", input_video: { data } };
  const format = mediaFile(new Uint8Array(Buffer.from(data, "base64")))?.format.toLowerCase() ?? "";
  return modality === "image"
    ? { type: "image_url", image_url: { url: `data:image/${format};base64,${data}` } }
    : { type: "input_audio", input_audio: { data, format } };
}

function fromWire(message: unknown, where: string): InputMessage {
  const role = isObject(message) ? message["role"] : undefined;
  const content = isObject(message) ? message["content"] : undefined;
  if (role !== "user" && role !== "assistant" && role !== "system")
    throw new Error(`${where}: role must be user, assistant or system`);
  if (typeof content === "string") return { role, content: [{ type: "text", text: content }] };
  if (!Array.isArray(content)) throw new Error(`${where}: content must be a text or a list of parts`);
  return { role, content: content.map((part, index) => partFromWire(part, `${where}, part ${index}`)) };
}

function partFromWire(part: unknown, where: string): InputPart {
  if (isObject(part) && part["type"] === "text" && typeof part["text"] === "string")
    return { type: "text", text: part["text"] };
  const medium = isObject(part) ? mediumFromWire(part, where) : undefined;
  if (medium !== undefined) return medium;
  const file = isObject(part) && part["type"] === "file" ? part["file"] : undefined;
  if (!isObject(file) || typeof file["file_data"] !== "string")
    throw new Error(`${where} must be text, an image, audio, a video, or a file with file_data`);
  const filename = typeof file["filename"] === "string" ? file["filename"] : "file";
  return filePart(filename, file["file_data"]);
}

const MODALITIES = ["image", "audio", "video"] as const;

function mediumFromWire(part: Readonly<Record<string, unknown>>, where: string): InputPart | undefined {
  const type = part["type"];
  const named = typeof type === "string" ? part[type] : undefined;
  const modality = MODALITIES.find((one) => type === `${one}_url` || type === `input_${one}`);
  const sent = isObject(named) ? (named["url"] ?? named["data"]) : undefined;
  if (typeof sent !== "string" || modality === undefined) return undefined;
  const source: FileSource = /^https?:/i.test(sent)
    ? { type: "remote", url: sent }
    : { type: "inline", data: sent.replace(/^data:[^,]*,/i, "") };
  return { type: "media", modality, source, param: where };
}
