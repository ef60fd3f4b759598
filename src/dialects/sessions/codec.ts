// Converts sessions to and from their wire form, without loss. Pure.

import type { FileObject } from "../../core/agent.ts";
import { defined } from "../../core/defined.ts";
import { ServiceError } from "../../core/error.ts";
import type { NewFile } from "../../core/files.ts";
import { cleanFileName } from "../../core/input-file.ts";
import { isObject } from "../../core/json.ts";
import { checkedMedium } from "../../core/media.ts";
import type { ContentPart, Message, Modality, ToolCall } from "../../core/message.ts";
import { checker, isPresent } from "../shared/check.ts";
import { SerializedSession, type SessionMessage } from "./schema.ts";

/** Ids of files of this API; they become parts of URLs. */
const FILE_ID = /^file[-_][\w-]{1,200}$/;

/** A file of an imported session: its bytes, or the reason why it has none. */
export interface ImportedFile {
  readonly file: NewFile;
  readonly content:
    | { readonly bytes: Uint8Array<ArrayBuffer> }
    | { readonly failure: { readonly code: string; readonly message: string } };
}

export interface ImportedSession {
  readonly messages: readonly Message[];
  readonly files: readonly ImportedFile[];
}

const checkBody = checker(SerializedSession);

/** Parses a request body; throws a ServiceError naming the field at fault. */
export function parseSession(json: Readonly<Record<string, unknown>>): ImportedSession {
  const body = checkBody(json);
  if ((body.videos ?? []).length > 0) {
    const message = "videos are not supported in sessions; import the session without them";
    throw new ServiceError("unsupported_capability", message, { param: "videos" });
  }
  const media = new MediaLists(body);
  const messages = body.messages.map((message, index) => messageOf(message, index, media));
  media.refuseRest();
  return { messages, files: (body.files ?? []).flatMap(fileOf) };
}

const LISTS = { image: "images", audio: "audios" } as const;

/** The media of a session, assigned to the image and audio parts of its messages in order. */
class MediaLists {
  private readonly body: Pick<SerializedSession, "images" | "audios">;
  private readonly taken = { image: 0, audio: 0 };

  constructor(body: Pick<SerializedSession, "images" | "audios">) {
    this.body = body;
  }

  next(modality: Modality, path: string): ContentPart {
    const list = LISTS[modality];
    const at = this.taken[modality]++;
    const data = this.body[list]?.[at];
    if (data !== undefined)
      return checkedMedium(decoded(data, `${list}[${at}]`), modality, {}, `${list}[${at}]`).part;
    const message = `${path} refers to ${list}[${at}], which does not exist; add the file or remove the part`;
    throw new ServiceError("invalid_request", message, { param: path });
  }

  /** Throws for media without a part, which would be lost. */
  refuseRest(): void {
    for (const modality of ["image", "audio"] as const) {
      const param = LISTS[modality];
      const sent = this.body[param]?.length ?? 0;
      const parts = this.taken[modality];
      if (sent === parts) continue;
      const message = `${param} has ${sent} entries, but messages have ${parts} parts of the type "${modality}"`;
      throw new ServiceError("invalid_request", message, { param });
    }
  }
}

/** The wire form of a session and its files. */
export function sessionBody(messages: readonly Message[], files: readonly FileObject[]): SerializedSession {
  const media = (type: Modality): string[] =>
    messages.flatMap(({ content }) => content.flatMap((part) => (part.type === type ? [part.data] : [])));
  const [images, audios] = [media("image"), media("audio")];
  return {
    version: 1,
    messages: messages.map(messageBody),
    files: [...files],
    ...(images.length === 0 ? {} : { images }),
    ...(audios.length === 0 ? {} : { audios }),
  };
}

function messageBody({ role, content, reasoning, toolCalls, toolCallId, name }: Message): SessionMessage {
  return {
    role,
    content: contentBody(content),
    ...defined({ reasoning_content: reasoning }),
    ...(toolCalls === undefined ? {} : { tool_calls: toolCalls.map(callBody) }),
    ...defined({ tool_call_id: toolCallId, name }),
  };
}

function contentBody(content: Message["content"]): NonNullable<SessionMessage["content"]> {
  const [only, ...others] = content;
  if (only === undefined) return "";
  if (others.length === 0 && only.type === "text") return only.text;
  return content.map((part) =>
    part.type === "text" ? { type: "text", text: part.text } : { type: part.type },
  );
}

function callBody({
  id,
  name,
  arguments: text,
}: ToolCall): NonNullable<SessionMessage["tool_calls"]>[number] {
  return { id, type: "function", function: { name, arguments: asObject(text) ?? text } };
}

/** The object of a JSON text, if serializing it again yields the same text: prompts are built from the exact text. */
function asObject(text: string): Record<string, unknown> | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return isObject(value) && JSON.stringify(value) === text ? { ...value } : undefined;
  } catch {
    return undefined;
  }
}

function messageOf(message: SessionMessage, index: number, media: MediaLists): Message {
  const calls = (message.tool_calls ?? []).map((call, position): ToolCall => {
    const { name, arguments: args } = call.function;
    const text = typeof args === "string" ? args : JSON.stringify(args);
    return { id: call.id ?? `call_${index}_${position}`, name, arguments: text };
  });
  return {
    role: message.role,
    content: contentOf(message.content, `messages[${index}].content`, media),
    ...(isPresent(message.reasoning_content) ? { reasoning: message.reasoning_content } : {}),
    ...(isPresent(message.tool_calls) ? { toolCalls: calls } : {}),
    ...(isPresent(message.tool_call_id) ? { toolCallId: message.tool_call_id } : {}),
    ...(isPresent(message.name) ? { name: message.name } : {}),
  };
}

function contentOf(
  content: SessionMessage["content"],
  path: string,
  media: MediaLists,
): readonly ContentPart[] {
  if (!isPresent(content) || content === "") return [];
  if (typeof content === "string") return [{ type: "text", text: content }];
  return content.map((part, index) =>
    part.type === "text" ? { type: "text", text: part.text } : media.next(part.type, `${path}[${index}]`),
  );
}

function fileOf(
  object: NonNullable<SerializedSession["files"]>[number],
  index: number,
): readonly ImportedFile[] {
  const { id, name, format, mime_type: mimeType, purpose, source } = object;
  const path = `files[${index}]`;
  if (!FILE_ID.test(id)) {
    const message = `${path}.id must be a file id, such as "file-1"`;
    throw new ServiceError("invalid_request", message, { param: `${path}.id` });
  }
  const content = bodyOf(object, path);
  if (content === undefined) return [];
  const file = {
    id,
    name: cleanFileName(name),
    ...defined({ format, mimeType }),
    purpose,
    source,
  };
  return [{ file, content }];
}

function bodyOf(
  { text, data_base64: base64, code, message = "" }: NonNullable<SerializedSession["files"]>[number],
  path: string,
): ImportedFile["content"] | undefined {
  if (text !== undefined) return { bytes: new TextEncoder().encode(text) };
  if (base64 !== undefined) return { bytes: decoded(base64, `${path}.data_base64`) };
  return code === undefined ? undefined : { failure: { code, message } };
}

function decoded(base64: string, param: string): Uint8Array<ArrayBuffer> {
  try {
    return Uint8Array.fromBase64(base64);
  } catch (cause) {
    throw new ServiceError("invalid_request", `${param} must be base64`, { param, cause });
  }
}
