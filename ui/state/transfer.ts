// Conversations as JSON files, and sessions of the server as conversations. Pure.

import { Value } from "@sinclair/typebox/value";
import { append, type Attachment, Conversation, DEFAULT_SETTINGS, restored } from "./conversation.ts";
import { mimeOfBase64 } from "./media-types.ts";
import type { Modality } from "./model-card.ts";

/** Tells our files from other JSON. The number rises when older pages could not read newer files. */
const FORMAT = "svc-conversations";
const FORMAT_VERSION = 1;

/** The text of a file that holds conversations. */
export function exportText(conversations: readonly Conversation[]): string {
  return JSON.stringify({ format: FORMAT, version: FORMAT_VERSION, conversations }, null, 2);
}

/** The conversations of such a file. Throws an Error for people where it is none. */
export function importText(text: string): readonly Conversation[] {
  const { format, version, conversations } = parsed(text);
  if (format !== FORMAT || !Array.isArray(conversations))
    throw new Error("This is no file of conversations that was exported here.");
  if (version !== FORMAT_VERSION)
    throw new Error(`This file has version ${String(version)}; this page reads version ${FORMAT_VERSION}.`);
  return conversations.map((item: unknown, index) => {
    if (Value.Check(Conversation, item)) return restored(item);
    const where = Value.Errors(Conversation, item).First()?.path ?? "";
    throw new Error(`Conversation ${index + 1} of the file is damaged at ${where || "its beginning"}.`);
  });
}

function parsed(text: string): Readonly<Record<string, unknown>> {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (error) {
    throw new Error("This file is not JSON.", { cause: error });
  }
  return typeof value === "object" && value !== null ? { ...value } : {};
}

/** How a session is read from the server; other fields are not shown. */
export interface ServerSession {
  readonly messages: readonly {
    readonly role: string;
    readonly content?: string | null | readonly { readonly type: string; readonly text?: string }[];
  }[];
  /** Base64 of what the parts of the types `image` and `audio` stand for, in their order. */
  readonly images?: readonly string[] | null;
  readonly audios?: readonly string[] | null;
}

export interface NewConversation {
  readonly id: string;
  readonly now: number;
  readonly newId: () => string;
}

/** A conversation that goes on with a session of the server. Turns of tools stay there. */
export function fromSession(
  sessionId: string,
  session: ServerSession,
  { id, now, newId }: NewConversation,
): Conversation {
  const media = { image: [...(session.images ?? [])], audio: [...(session.audios ?? [])] };
  const said = session.messages.map(({ role, content }) => ({
    role,
    text: textOf(content ?? ""),
    attachments: attachmentsOf(content ?? "", media),
  }));
  const system = said.find(({ role }) => role === "system")?.text ?? "";
  const empty = { ...emptyConversation(id, now), settings: { ...DEFAULT_SETTINGS, system } };
  const conversation = said.reduce((before, { role, text, attachments }) => {
    const place = { id: newId(), parent: before.leaf };
    if (role === "user" && (text !== "" || attachments.length > 0))
      return append(before, { ...place, role, text, attachments });
    if (text === "" || role !== "assistant") return before;
    return append(before, { ...place, role, model: "", parts: [{ type: "text", text }], state: "done" });
  }, empty);
  return { ...conversation, session: sessionId, title: conversation.title || sessionId };
}

/** A conversation in which nobody has said anything. */
export function emptyConversation(id: string, now: number): Conversation {
  return {
    id,
    title: "",
    created: now,
    updated: now,
    model: "",
    settings: DEFAULT_SETTINGS,
    session: null,
    messages: [],
    leaf: null,
  };
}

type Content = NonNullable<ServerSession["messages"][number]["content"]>;

function textOf(content: Content): string {
  if (typeof content === "string") return content;
  return content.map(({ text = "" }) => text).join("");
}

/** The pictures and recordings of a message. They are taken from the lists as messages name them, one after the other. */
function attachmentsOf(content: Content, media: Record<Modality, string[]>): Attachment[] {
  if (typeof content === "string") return [];
  return content.flatMap(({ type }) => {
    const data = type === "image" || type === "audio" ? media[type].shift() : undefined;
    const mime = data === undefined ? undefined : mimeOfBase64(data);
    if (data === undefined || mime === undefined) return [];
    const name = mime.replace("/", ".");
    return [{ name, mime, bytes: bytesOf(data), data: `data:${mime};base64,${data}` }];
  });
}

function bytesOf(base64: string): number {
  return Math.floor((base64.replace(/=+$/, "").length * 3) / 4);
}
