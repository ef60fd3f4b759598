// Conversations of other programs: the conversations.json of a ChatGPT export, and the chats that Open WebUI exports. Both keep a tree of
// messages as svc does. No npm package reads both into a tree; their formats are described by the schemas below.

import { type Static, type TSchema, Type } from "@sinclair/typebox";
import { Value } from "@sinclair/typebox/value";
import { type Attachment, type Conversation, imported, type Message, type Part } from "./conversation.ts";
import { emptyConversation } from "./transfer.ts";
import { t } from "../texts/texts.ts";

const Maybe = <T extends TSchema>(schema: T) => Type.Optional(Type.Union([schema, Type.Null()]));

const GptNode = Type.Object({
  id: Type.String(),
  parent: Maybe(Type.String()),
  message: Maybe(
    Type.Object({
      author: Type.Object({ role: Type.String() }),
      content: Type.Object({ content_type: Type.String(), parts: Maybe(Type.Array(Type.Unknown())) }),
      recipient: Maybe(Type.String()),
    }),
  ),
});
const GptConversation = Type.Object({
  title: Maybe(Type.String()),
  create_time: Maybe(Type.Number()),
  update_time: Maybe(Type.Number()),
  mapping: Type.Record(Type.String(), GptNode),
  current_node: Maybe(Type.String()),
  conversation_id: Maybe(Type.String()),
  id: Maybe(Type.String()),
});

const WebUiMessage = Type.Object({
  id: Type.String(),
  parentId: Maybe(Type.String()),
  role: Type.String(),
  content: Type.String(),
  model: Maybe(Type.String()),
  files: Maybe(Type.Array(Type.Object({ type: Maybe(Type.String()), url: Maybe(Type.String()) }))),
});
const WebUiChat = Type.Object({
  id: Maybe(Type.String()),
  title: Maybe(Type.String()),
  created_at: Maybe(Type.Number()),
  updated_at: Maybe(Type.Number()),
  chat: Type.Object({
    history: Type.Object({
      messages: Type.Record(Type.String(), WebUiMessage),
      currentId: Maybe(Type.String()),
    }),
  }),
});

/** A message of another program, by its place in a tree. */
interface Node {
  readonly id: string;
  readonly parent: string | null;
  /** Undefined: what is no message of a person or model. */
  readonly role: "user" | "assistant" | undefined;
  readonly model: string;
  readonly parts: readonly Part[];
  readonly attachments: readonly Attachment[];
}

interface Tree {
  readonly id: string | null | undefined;
  readonly title: string | null | undefined;
  /** Unix seconds. */
  readonly created: number;
  readonly updated: number;
  readonly nodes: readonly Node[];
  readonly leaf: string | null | undefined;
}

/**
 * The conversations of such an export; undefined if it is another file. Images and other files that stand elsewhere are left out, and
 * told of one by one. Throws an Error with a message for display.
 */
export function foreignConversations(
  value: unknown,
  newId: () => string,
  leftOut: () => void = () => undefined,
): readonly Conversation[] | undefined {
  const items: readonly unknown[] = Array.isArray(value) ? value : [value];
  const trees = items.map((item) => {
    if (Value.Check(GptConversation, item)) return gptTree(item, leftOut);
    return Value.Check(WebUiChat, item) ? webUiTree(item, leftOut) : undefined;
  });
  const known = trees.filter((tree) => tree !== undefined);
  if (known.length === 0) return undefined;
  const unknown = trees.indexOf(undefined);
  if (unknown >= 0) throw new Error(t.errors.invalidInExport(unknown + 1, t.errors.topLevel));
  return known.map((tree) => conversationOf(tree, newId)).filter(({ messages }) => messages.length > 0);
}

function gptTree(of: Static<typeof GptConversation>, leftOut: () => void): Tree {
  const nodes = Object.values(of.mapping).map(({ id, parent, message }): Node => {
    const role = message?.author.role;
    const isShown =
      message?.content.content_type.endsWith("text") === true && (message.recipient ?? "all") === "all";
    const sent = message?.content.parts ?? [];
    const text = sent.filter((part) => typeof part === "string").join("\n\n");
    if (isShown && roleOf(role) !== undefined)
      for (const part of sent) if (typeof part !== "string") leftOut();
    return {
      id,
      parent: parent ?? null,
      role: isShown && text !== "" ? roleOf(role) : undefined,
      model: "",
      parts: [{ type: "text", text }],
      attachments: [],
    };
  });
  const created = of.create_time ?? 0;
  const { title, conversation_id: id, current_node: leaf } = of;
  return { id: id ?? of.id, title, created, updated: of.update_time ?? created, nodes, leaf };
}

function webUiTree(
  { id, title, chat, created_at: created = 0, updated_at }: Static<typeof WebUiChat>,
  leftOut: () => void,
): Tree {
  const { messages, currentId: leaf } = chat.history;
  const nodes = Object.values(messages).map(({ id: own, parentId, role, content, model, files }): Node => ({
    id: own,
    parent: parentId ?? null,
    role: roleOf(role),
    model: model ?? "",
    parts: partsOf(content),
    attachments: (files ?? []).flatMap(({ url }) => attachmentOf(url ?? "", leftOut)),
  }));
  return { id, title, created: created ?? 0, updated: updated_at ?? created ?? 0, nodes, leaf };
}

function roleOf(role: string | undefined): Node["role"] {
  return role === "user" || role === "assistant" ? role : undefined;
}

/** Reasoning stands in details of its own before the text. */
const REASONING = /<details type="reasoning"[^>]*>\s*(?:<summary>[^<]*<\/summary>)?([\s\S]*?)<\/details>\s*/g;

function partsOf(content: string): readonly Part[] {
  const reasoning = [...content.matchAll(REASONING)].map(([, text = ""]): Part => ({
    type: "reasoning",
    text: text.trim().replaceAll(/^(?:&gt;|>) ?/gm, ""),
  }));
  const text = content.replaceAll(REASONING, "");
  return [...reasoning, { type: "text", text }];
}

function attachmentOf(url: string, leftOut: () => void): readonly Attachment[] {
  const mime = /^data:(image\/[\w.+-]+);base64,/.exec(url)?.[1];
  if (mime === undefined) {
    leftOut();
    return [];
  }
  const bytes = Math.floor(((url.length - url.indexOf(",") - 1) * 3) / 4);
  return [{ name: mime.replace("/", "."), mime, bytes, data: url }];
}

/** The tree with messages of people and models only; what a model wrote in several pieces is one answer. */
function conversationOf(tree: Tree, newId: () => string): Conversation {
  const nodes = new Map(tree.nodes.map((node) => [node.id, node]));
  const messages = new Map<string, Message>();
  const places = new Map<string, string | null>(); // of a node, the message that it became or belongs to
  const placeOf = (id: string | null): string | null => {
    const path: Node[] = [];
    let at = id;
    while (at !== null && !places.has(at)) {
      const node = nodes.get(at);
      places.set(at, null); // a damaged tree may go round in a circle
      if (node !== undefined) path.push(node);
      at = node?.parent ?? null;
    }
    let parent = at === null ? null : (places.get(at) ?? null);
    for (const node of path.toReversed()) {
      parent = place(node, parent, messages);
      places.set(node.id, parent);
    }
    return parent;
  };
  for (const { id } of tree.nodes) placeOf(id);
  const found = [...messages.values()];
  const leaf = placeOf(tree.leaf ?? null) ?? found.at(-1)?.id ?? null;
  const now = Date.now();
  const msOf = (secs: number): number => (secs === 0 ? now : Math.round(secs * 1000));
  return imported({
    ...emptyConversation(tree.id ?? newId(), msOf(tree.created)),
    updated: msOf(tree.updated),
    title: tree.title ?? "",
    messages: found,
    leaf,
  });
}

/** Adds a node's message below another one; returns the id of the message that it became. */
function place(node: Node, parent: string | null, messages: Map<string, Message>): string | null {
  const { id, role, model, parts, attachments } = node;
  const before = parent === null ? undefined : messages.get(parent);
  if (role === undefined) return parent;
  if (role === "assistant" && before?.role === "assistant") {
    messages.set(before.id, { ...before, parts: [...before.parts, ...parts] });
    return before.id;
  }
  const text = parts.map((part) => (part.type === "text" ? part.text : "")).join("");
  const message: Message =
    role === "user"
      ? { id, parent, role, text, attachments: [...attachments] }
      : { id, parent, role, model, parts: [...parts], state: "done" };
  messages.set(id, message);
  return id;
}
