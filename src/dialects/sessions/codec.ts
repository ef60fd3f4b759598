// Sessions ↔ their wire form. What is written can be read back without any loss. Pure.

import type { FileObject } from "../../core/agent.ts";
import { ServiceError } from "../../core/error.ts";
import type { NewFile } from "../../core/files.ts";
import { cleanFileName } from "../../core/input-file.ts";
import type { ContentPart, Message, ToolCall } from "../../core/message.ts";
import { checker, isPresent } from "../shared/check.ts";
import { SerializedSession, type SessionMessage } from "./schema.ts";

/** Ids that files of this interface have; they become parts of addresses. */
const FILE_ID = /^file[-_][\w-]{1,200}$/;

/** A file of an imported session: its bytes, or why there are none. */
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

/** Reads a parsed JSON body; throws a ServiceError naming the field at fault. */
export function parseSession(json: Readonly<Record<string, unknown>>): ImportedSession {
  const body = checkBody(json);
  for (const field of ["images", "videos"] as const) {
    if ((body[field] ?? []).length === 0) continue;
    const message = `${field} are not kept in sessions by this server; import the session without them`;
    throw new ServiceError("unsupported_capability", message, { param: field });
  }
  return { messages: body.messages.map(messageOf), files: (body.files ?? []).flatMap(fileOf) };
}

/** The wire form of a session and its files. */
export function sessionBody(messages: readonly Message[], files: readonly FileObject[]): SerializedSession {
  return { version: 1, messages: messages.map(messageBody), files: [...files] };
}

function messageBody({ role, content, reasoning, toolCalls, toolCallId, name }: Message): SessionMessage {
  const texts = content.filter((part) => part.type === "text");
  const [only, ...others] = texts;
  return {
    role,
    content: only === undefined ? "" : others.length === 0 ? only.text : texts,
    ...(reasoning === undefined ? {} : { reasoning_content: reasoning }),
    ...(toolCalls === undefined ? {} : { tool_calls: toolCalls.map(callBody) }),
    ...(toolCallId === undefined ? {} : { tool_call_id: toolCallId }),
    ...(name === undefined ? {} : { name }),
  };
}

function callBody({
  id,
  name,
  arguments: text,
}: ToolCall): NonNullable<SessionMessage["tool_calls"]>[number] {
  return { id, type: "function", function: { name, arguments: asObject(text) ?? text } };
}

/** The object that a text is the JSON of, if nothing is lost by it: prompts are made from the text as it is. */
function asObject(text: string): Record<string, unknown> | undefined {
  try {
    const value: unknown = JSON.parse(text);
    const isObject = typeof value === "object" && value !== null && !Array.isArray(value);
    return isObject && JSON.stringify(value) === text ? { ...value } : undefined;
  } catch {
    return undefined;
  }
}

function messageOf(message: SessionMessage, index: number): Message {
  const calls = (message.tool_calls ?? []).map((call, position): ToolCall => {
    const { name, arguments: args } = call.function;
    const text = typeof args === "string" ? args : JSON.stringify(args);
    return { id: call.id ?? `call_${index}_${position}`, name, arguments: text };
  });
  return {
    role: message.role,
    content: contentOf(message.content),
    ...(isPresent(message.reasoning_content) ? { reasoning: message.reasoning_content } : {}),
    ...(isPresent(message.tool_calls) ? { toolCalls: calls } : {}),
    ...(isPresent(message.tool_call_id) ? { toolCallId: message.tool_call_id } : {}),
    ...(isPresent(message.name) ? { name: message.name } : {}),
  };
}

function contentOf(content: SessionMessage["content"]): readonly ContentPart[] {
  if (!isPresent(content) || content === "") return [];
  if (typeof content === "string") return [{ type: "text", text: content }];
  return content.map(({ text }) => ({ type: "text", text }));
}

function fileOf(
  object: NonNullable<SerializedSession["files"]>[number],
  index: number,
): readonly ImportedFile[] {
  const { id, name, format, mime_type: mimeType, purpose, source } = object;
  const path = `files[${index}]`;
  if (!FILE_ID.test(id)) {
    const message = `${path}.id must be the id of a file, such as "file-1"`;
    throw new ServiceError("invalid_request", message, { param: `${path}.id` });
  }
  const content = bodyOf(object, path);
  if (content === undefined) return [];
  const file = {
    id,
    name: cleanFileName(name),
    ...(format === undefined ? {} : { format }),
    ...(mimeType === undefined ? {} : { mimeType }),
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
