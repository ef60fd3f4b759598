// Export and import of conversations as JSON, and conversion of server sessions. Pure.

import { Value } from "@sinclair/typebox/value";
import { append, type Attachment, Conversation, DEFAULT_SETTINGS, imported } from "./conversation.ts";
import { mimeOfBase64 } from "./media-types.ts";
import type { Modality } from "./model-card.ts";
import { t } from "../texts/texts.ts";

/** Identifies export files of svc. The version is incremented when older pages cannot read newer files. */
const FORMAT = "svc-conversations";
const FORMAT_VERSION = 1;

/** What an export file can have besides conversations: lists by their names. */
export type ExportParts = Readonly<Partial<Record<"assistants" | "prompts" | "images", readonly unknown[]>>>;

/** Text of an export file. */
export function exportText(conversations: readonly Conversation[], parts: ExportParts = {}): string {
  const others = Object.fromEntries(Object.entries(parts).filter(([, list]) => list.length > 0));
  return JSON.stringify({ format: FORMAT, version: FORMAT_VERSION, conversations, ...others }, null, 2);
}

/** What an export file has: its conversations, and its other parts as they are. */
export interface Exported {
  readonly conversations: readonly Conversation[];
  readonly parts: Readonly<Record<keyof ExportParts, unknown>>;
}

/** Reads an export file. Throws an Error with a message for display if it or one of its conversations is invalid. */
export function readExport(text: string): Exported {
  const { format, version, conversations, assistants, prompts, images } = parsed(text);
  if (format !== FORMAT || !Array.isArray(conversations)) throw new Error(t.errors.notAnExport);
  if (version !== FORMAT_VERSION) throw new Error(t.errors.exportVersion(String(version), FORMAT_VERSION));
  const read = conversations.map((item: unknown, index) => {
    if (Value.Check(Conversation, item)) return imported(item);
    const where = Value.Errors(Conversation, item).First()?.path ?? "";
    throw new Error(t.errors.invalidInExport(index + 1, where || t.errors.topLevel));
  });
  return { conversations: read, parts: { assistants, prompts, images } };
}

function parsed(text: string): Readonly<Record<string, unknown>> {
  const value = jsonOf(text);
  return typeof value === "object" && value !== null ? { ...value } : {};
}

/** The value of a file. Throws an Error with a message for display. */
export function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (error) {
    throw new Error(t.errors.notJson, { cause: error });
  }
}

/** The fields of a server session that the page uses. */
export interface ServerSession {
  readonly messages: readonly {
    readonly role: string;
    readonly content?: string | null | readonly { readonly type: string; readonly text?: string }[];
  }[];
  /** Base64 of the files of the parts with type `image` and `audio`, in order. */
  readonly images?: readonly string[] | null;
  readonly audios?: readonly string[] | null;
}

export interface NewConversation {
  readonly id: string;
  readonly now: number;
  readonly newId: () => string;
}

/** A conversation that continues a server session. Tool messages stay on the server. */
export function fromSession(
  sessionId: string,
  session: ServerSession,
  { id, now, newId }: NewConversation,
): Conversation {
  const media = { image: [...(session.images ?? [])], audio: [...(session.audios ?? [])] };
  const turns = session.messages.map(({ role, content }) => ({
    role,
    text: textOf(content ?? ""),
    attachments: attachmentsOf(content ?? "", media),
  }));
  const system = turns.find(({ role }) => role === "system")?.text ?? "";
  const empty = { ...emptyConversation(id, now), settings: { ...DEFAULT_SETTINGS, system } };
  const conversation = turns.reduce((before, { role, text, attachments }) => {
    const place = { id: newId(), parent: before.leaf };
    if (role === "user" && (text !== "" || attachments.length > 0))
      return append(before, { ...place, role, text, attachments });
    if (text === "" || role !== "assistant") return before;
    return append(before, { ...place, role, model: "", parts: [{ type: "text", text }], state: "done" });
  }, empty);
  return { ...conversation, session: sessionId, title: conversation.title || sessionId };
}

/** A conversation without messages. */
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

/** Images and audio of a message, taken from the front of the session's media lists. */
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
