// What a conversation is in the browser: a tree of messages, because an edited question or a second answer does not
// erase the first. Pure; knows neither the network nor the storage. The schemas also check what is imported.

import { type Static, type TSchema, Type } from "@sinclair/typebox";

const Optional = <T extends TSchema>(schema: T) => Type.Optional(schema);
const Texts = Type.Array(Type.String());

/** A file that a person has added to a message. */
export const Attachment = Type.Object({
  name: Type.String(),
  mime: Type.String(),
  bytes: Type.Integer({ minimum: 0 }),
  /** A base64 data URL. */
  data: Type.String({ pattern: "^data:" }),
});
export type Attachment = Static<typeof Attachment>;

/** What a tool call is about and what came of it, as events tell it. Which fields there are depends on the tool. */
export const ToolData = Type.Object({
  tool_type: Type.String(),
  code: Optional(Type.String()),
  commands: Optional(Texts),
  stdout: Optional(Type.String()),
  stderr: Optional(Type.String()),
  exception: Optional(Type.String()),
  images_base64: Optional(Texts),
  video_frames_base64: Optional(Texts),
  working_directory: Optional(Type.String()),
  execution_time_ms: Optional(Type.Number()),
  exit_code: Optional(Type.Union([Type.Number(), Type.Null()])),
  status: Optional(Type.String()),
  timed_out: Optional(Type.Boolean()),
  query: Optional(Type.String()),
  results_count: Optional(Type.Number()),
  sources: Optional(Texts),
  arguments: Optional(Type.String()),
  content: Optional(Type.String()),
});
export type ToolData = Static<typeof ToolData>;

/** A file that an answer came with. */
export const ProducedFile = Type.Object({
  id: Type.String(),
  name: Type.String(),
  mime_type: Optional(Type.String()),
  bytes: Type.Number(),
  text: Optional(Type.String()),
  data_base64: Optional(Type.String()),
  message: Optional(Type.String()),
});
export type ProducedFile = Static<typeof ProducedFile>;

/** A person's word on an action. `expired`: the server no longer waited for it. */
export const Approval = Type.Object({
  id: Type.String(),
  label: Type.String(),
  arguments: Type.String(),
  decision: Type.Union([
    Type.Literal("pending"),
    Type.Literal("approve"),
    Type.Literal("deny"),
    Type.Literal("expired"),
  ]),
});
export type Approval = Static<typeof Approval>;

const TextPart = Type.Object({ type: Type.Literal("text"), text: Type.String() });
const ReasoningPart = Type.Object({ type: Type.Literal("reasoning"), text: Type.String() });
const ToolPart = Type.Object({
  type: Type.Literal("tool"),
  round: Type.Number(),
  name: Type.String(),
  input: ToolData,
  output: Optional(ToolData),
  approval: Optional(Approval),
});
export type ToolPart = Static<typeof ToolPart>;
const FilesPart = Type.Object({ type: Type.Literal("files"), files: Type.Array(ProducedFile) });
/** A function that the model wants called and that the server does not know. */
const CallPart = Type.Object({
  type: Type.Literal("call"),
  index: Type.Number(),
  name: Type.String(),
  arguments: Type.String(),
});
export const Part = Type.Union([TextPart, ReasoningPart, ToolPart, FilesPart, CallPart]);
export type Part = Static<typeof Part>;

export const Figures = Type.Object({
  promptTokens: Type.Number(),
  cachedTokens: Type.Number(),
  completionTokens: Type.Number(),
  reasoningTokens: Type.Number(),
  /** Generated tokens a second. */
  speed: Type.Number(),
  totalSecs: Type.Number(),
});
export type Figures = Static<typeof Figures>;

const UserMessage = Type.Object({
  id: Type.String(),
  parent: Type.Union([Type.String(), Type.Null()]),
  role: Type.Literal("user"),
  text: Type.String(),
  attachments: Type.Array(Attachment),
});
export type UserMessage = Static<typeof UserMessage>;

export const AssistantMessage = Type.Object({
  id: Type.String(),
  parent: Type.Union([Type.String(), Type.Null()]),
  role: Type.Literal("assistant"),
  model: Type.String(),
  parts: Type.Array(Part),
  state: Type.Union([
    Type.Literal("running"),
    Type.Literal("done"),
    Type.Literal("stopped"),
    Type.Literal("failed"),
  ]),
  /** Why it ended, in the server's word; `length` means that it was cut. */
  finish: Optional(Type.String()),
  error: Optional(Type.String()),
  figures: Optional(Figures),
  firstTokenMs: Optional(Type.Number()),
});
export type AssistantMessage = Static<typeof AssistantMessage>;

export const Message = Type.Union([UserMessage, AssistantMessage]);
export type Message = Static<typeof Message>;

const number = Type.Union([Type.Number(), Type.Null()]);

/** How a conversation is answered. Null leaves a value to the server. */
export const Settings = Type.Object({
  system: Type.String(),
  temperature: number,
  top_p: number,
  top_k: number,
  min_p: number,
  max_tokens: number,
  seed: number,
  presence_penalty: number,
  frequency_penalty: number,
  repetition_penalty: number,
  /** One a line. */
  stop: Type.String(),
  /** "" leaves it to the model. */
  reasoning: Type.String(),
  python: Type.Boolean(),
  shell: Type.Boolean(),
  search: Type.Boolean(),
  /** "" leaves it to the server. */
  permission: Type.String(),
});
export type Settings = Static<typeof Settings>;

export const DEFAULT_SETTINGS: Settings = {
  system: "",
  temperature: null,
  top_p: null,
  top_k: null,
  min_p: null,
  max_tokens: null,
  seed: null,
  presence_penalty: null,
  frequency_penalty: null,
  repetition_penalty: null,
  stop: "",
  reasoning: "",
  python: false,
  shell: false,
  search: false,
  permission: "",
};

export const Conversation = Type.Object({
  id: Type.String({ minLength: 1 }),
  title: Type.String(),
  /** Unix time in milliseconds. */
  created: Type.Number(),
  updated: Type.Number(),
  model: Type.String(),
  settings: Settings,
  /** The server's session; null leaves everything to the browser. */
  session: Type.Union([Type.String({ minLength: 1 }), Type.Null()]),
  messages: Type.Array(Message),
  /** The message that is shown last; null in an empty conversation. */
  leaf: Type.Union([Type.String(), Type.Null()]),
});
export type Conversation = Static<typeof Conversation>;

/** Longest title taken from a first question, characters. */
const TITLE_CHARS_MAX = 60;

/** The messages that are shown, oldest first. */
export function thread({ messages, leaf }: Conversation): readonly Message[] {
  const byId = new Map(messages.map((message) => [message.id, message]));
  const path: Message[] = [];
  let at = leaf === null ? undefined : byId.get(leaf);
  while (at !== undefined && path.length < messages.length) {
    path.push(at);
    at = at.parent === null ? undefined : byId.get(at.parent);
  }
  return path.toReversed();
}

/** The alternatives to a message, itself included, oldest first. */
export function siblings({ messages }: Conversation, { parent, role }: Message): readonly Message[] {
  return messages.filter((other) => other.parent === parent && other.role === role);
}

/** Shows another alternative, and what followed it last. */
export function show(conversation: Conversation, id: string): Conversation {
  let leaf = id;
  for (;;) {
    const next = conversation.messages.findLast(({ parent }) => parent === leaf);
    if (next === undefined) return { ...conversation, leaf };
    leaf = next.id;
  }
}

/** Adds a message under its parent and shows it. */
export function append(conversation: Conversation, message: Message): Conversation {
  const title = conversation.title === "" && message.role === "user" ? titleOf(message) : conversation.title;
  return { ...conversation, title, messages: [...conversation.messages, message], leaf: message.id };
}

/** Changes one answer; the conversation itself where there is no such answer. */
export function changeAnswer(
  conversation: Conversation,
  id: string,
  change: (answer: AssistantMessage) => AssistantMessage,
): Conversation {
  const messages = conversation.messages.map((message) =>
    message.id === id && message.role === "assistant" ? change(message) : message,
  );
  return { ...conversation, messages };
}

/**
 * A conversation as it comes back from where it was kept: answers that were being made can't go on, and settings that
 * are newer than it take their defaults.
 */
export function restored(conversation: Conversation): Conversation {
  const messages = conversation.messages.map((message) =>
    message.role === "assistant" && message.state === "running"
      ? { ...message, state: "stopped" as const }
      : message,
  );
  return { ...conversation, messages, settings: { ...DEFAULT_SETTINGS, ...conversation.settings } };
}

/** What an answer says, without reasoning and tools. */
export function spokenText({ parts }: AssistantMessage): string {
  return parts
    .filter((part) => part.type === "text")
    .map(({ text }) => text)
    .join("");
}

function titleOf({ text, attachments }: UserMessage): string {
  const line = text.trim().split("\n", 1)[0] ?? "";
  if (line === "") return attachments[0]?.name ?? "Untitled";
  return line.length <= TITLE_CHARS_MAX ? line : `${line.slice(0, TITLE_CHARS_MAX - 1).trimEnd()}…`;
}
