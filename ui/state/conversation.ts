// Data model of a conversation: a tree of messages, because an edited question or a second answer does not replace the
// first. Pure; knows neither network nor storage. The schemas also validate imported files.

import { type Static, type TSchema, Type } from "@sinclair/typebox";
import { bySamplingName } from "../../src/core/sampling.ts";
import { t } from "../texts/texts.ts";

const Optional = <T extends TSchema>(schema: T) => Type.Optional(schema);
const Texts = Type.Array(Type.String());

/** A file that the user attached to a message. */
export const Attachment = Type.Object({
  name: Type.String(),
  mime: Type.String(),
  bytes: Type.Integer({ minimum: 0 }),
  /** A base64 data URL. */
  data: Type.String({ pattern: "^data:" }),
  /** Text of a document. */
  text: Optional(Type.String()),
  /** Pages of a PDF. */
  pages: Optional(Type.Integer({ minimum: 0 })),
  /** Its first pages as data URLs of images, for models that see. */
  images: Optional(Texts),
});
export type Attachment = Static<typeof Attachment>;

/** Input or result of a tool call, as in agent events. The fields depend on the tool. */
export const ToolData = Type.Object({
  tool_type: Type.String(),
  code: Optional(Type.String()),
  commands: Optional(Texts),
  stdout: Optional(Type.String()),
  stderr: Optional(Type.String()),
  exception: Optional(Type.String()),
  result: Optional(Type.String()),
  result_type: Optional(Type.String()),
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
  error: Optional(Type.String()),
  message: Optional(Type.String()),
  arguments: Optional(Type.String()),
  content: Optional(Type.String()),
});
export type ToolData = Static<typeof ToolData>;

/** A file that a tool produced for an answer. */
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

/** An approval request and the user's decision. `expired`: the server no longer waits for one. */
export const Approval = Type.Object({
  id: Type.String(),
  label: Type.String(),
  arguments: Type.String(),
  /** What the action can reach at most; absent in conversations with older servers. */
  reach: Optional(Type.Object({ files: Type.String(), network: Type.String() })),
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
/** A call of a function that the server cannot execute. */
const CallPart = Type.Object({
  type: Type.Literal("call"),
  index: Type.Number(),
  name: Type.String(),
  arguments: Type.String(),
});
/** A summary that the server put in the place of the oldest messages; tokens that it saved and took. */
const CompactionPart = Type.Object({
  type: Type.Literal("compaction"),
  summary: Type.String(),
  replaced: Type.Number(),
  saved: Type.Number(),
  spent: Type.Number(),
});
export type CompactionPart = Static<typeof CompactionPart>;
export const Part = Type.Union([TextPart, ReasoningPart, ToolPart, FilesPart, CallPart, CompactionPart]);
export type Part = Static<typeof Part>;

export const Figures = Type.Object({
  promptTokens: Type.Number(),
  cachedTokens: Type.Number(),
  completionTokens: Type.Number(),
  reasoningTokens: Type.Number(),
  /** Generated tokens per second. */
  speed: Type.Number(),
  totalSecs: Type.Number(),
});
export type Figures = Static<typeof Figures>;

/** Passages of a large file that are sent with a question, in the order of the file. */
export const Excerpt = Type.Object({
  file: Type.String(),
  /** Passages of the whole file. */
  total: Type.Integer({ minimum: 0 }),
  passages: Type.Array(Type.Object({ index: Type.Integer({ minimum: 0 }), text: Type.String() })),
});
export type Excerpt = Static<typeof Excerpt>;

/** Changes of a message by the user: of two tabs' states of a message, that with more is later. */
const revision = Optional(Type.Integer({ minimum: 0 }));

const UserMessage = Type.Object({
  id: Type.String(),
  parent: Type.Union([Type.String(), Type.Null()]),
  role: Type.Literal("user"),
  text: Type.String(),
  attachments: Type.Array(Attachment),
  excerpts: Optional(Type.Array(Excerpt)),
  /** Deleted: without content, kept for its place in the tree. */
  deleted: Optional(Type.Boolean()),
  revision,
});
export type UserMessage = Static<typeof UserMessage>;

/** What an answer waits for before its first word. */
const Wait = Type.Union([
  /** The load of the model, percent. */
  Type.Object({ type: Type.Literal("load"), percent: Type.Number() }),
  /** A free place: requests before it. */
  Type.Object({ type: Type.Literal("queue"), before: Type.Number() }),
  /** The prompt: tokens read, of how many, a second, and seconds left; the pace is unknown at first. */
  Type.Object({
    type: Type.Literal("prompt"),
    read: Type.Number(),
    total: Type.Number(),
    perSec: Optional(Type.Number()),
    secsLeft: Optional(Type.Number()),
  }),
]);
export type Wait = Static<typeof Wait>;

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
  /** Until the first word. */
  waitsFor: Optional(Wait),
  /** The server's finish reason; `length` means truncated. */
  finish: Optional(Type.String()),
  error: Optional(Type.String()),
  /** The server's code of the error. */
  code: Optional(Type.String()),
  figures: Optional(Figures),
  firstTokenMs: Optional(Type.Number()),
  /** Parts of the cut answer that this one continues; absent once it is complete. */
  base: Optional(Type.Array(Part)),
  /** Written by the user. */
  edited: Optional(Type.Boolean()),
  deleted: Optional(Type.Boolean()),
  revision,
});
export type AssistantMessage = Static<typeof AssistantMessage>;

/** What is typed but not sent. */
export interface Draft {
  readonly text: string;
  readonly attachments: readonly Attachment[];
}

export const Message = Type.Union([UserMessage, AssistantMessage]);
export type Message = Static<typeof Message>;

const number = Type.Union([Type.Number(), Type.Null()]);

/** Settings of a conversation. Null uses the server's default. */
export const Settings = Type.Object({
  system: Type.String(),
  ...bySamplingName(() => number),
  max_tokens: number,
  seed: number,
  /** One stop string per line. */
  stop: Type.String(),
  /** "": the model's default. */
  reasoning: Type.String(),
  python: Type.Boolean(),
  shell: Type.Boolean(),
  search: Type.Boolean(),
  /** "": the server's setting. */
  permission: Type.String(),
  /** Ids of MCP servers whose tools it does without. */
  mcp_off: Optional(Texts),
});
export type Settings = Static<typeof Settings>;

export const DEFAULT_SETTINGS: Settings = {
  system: "",
  ...bySamplingName(() => null),
  max_tokens: null,
  seed: null,
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
  /** Session id on the server; null: no session. */
  session: Type.Union([Type.String({ minLength: 1 }), Type.Null()]),
  messages: Type.Array(Message),
  /** Last message of the shown thread; null in an empty conversation. */
  leaf: Type.Union([Type.String(), Type.Null()]),
  pinned: Optional(Type.Boolean()),
  tags: Optional(Texts),
  /** Name of its folder; absent without one. */
  folder: Optional(Type.String({ minLength: 1 })),
  /** What the model gets instead of the beginning. */
  cut: Optional(
    Type.Object({
      /** First message that is sent; null: all are. */
      from: Type.Union([Type.String(), Type.Null()]),
      /** Last message when it was cut: figures of answers up to it count what was cut. */
      at: Type.Union([Type.String(), Type.Null()]),
      /** "": nothing takes the place of the messages before. */
      summary: Type.String(),
    }),
  ),
});
export type Conversation = Static<typeof Conversation>;

/** Longest title derived from the first question, characters. */
const TITLE_CHARS_MAX = 60;

/** The shown messages, oldest first, without deleted ones. */
export function thread({ messages, leaf }: Conversation): readonly Message[] {
  const byId = new Map(messages.map((message) => [message.id, message]));
  const path: Message[] = [];
  let at = leaf === null ? undefined : byId.get(leaf);
  while (at !== undefined && path.length < messages.length) {
    path.push(at);
    at = at.parent === null ? undefined : byId.get(at.parent);
  }
  return path.filter((message) => message.deleted !== true).toReversed();
}

/** A message and its alternatives, oldest first. */
export function siblings({ messages }: Conversation, { parent, role }: Message): readonly Message[] {
  return messages.filter((other) => other.parent === parent && other.role === role && other.deleted !== true);
}

/** Selects an alternative, with its latest continuation. */
export function showAlternative(conversation: Conversation, id: string): Conversation {
  let leaf = id;
  for (;;) {
    const next = conversation.messages.findLast(({ parent }) => parent === leaf);
    if (next === undefined) return { ...conversation, leaf };
    leaf = next.id;
  }
}

/** Adds a message below its parent and selects it. */
export function append(conversation: Conversation, message: Message): Conversation {
  const title = conversation.title === "" && message.role === "user" ? titleOf(message) : conversation.title;
  return { ...conversation, title, messages: [...conversation.messages, message], leaf: message.id };
}

/** Replaces a question that was added before. */
export function changeQuestion(conversation: Conversation, question: UserMessage): Conversation {
  const messages = conversation.messages.map((message) =>
    message.id === question.id ? revised(question, message) : message,
  );
  return { ...conversation, messages };
}

/** A changed message, as later than its state before. */
export function revised<T extends Message>(message: T, before: Message): T {
  return { ...message, revision: (before.revision ?? 0) + 1 };
}

/** Changes one answer; no change if the answer does not exist. */
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

/** A conversation of another browser: running answers become stopped, because this browser does not follow them. */
export function imported(conversation: Conversation): Conversation {
  const messages = conversation.messages.map((message) =>
    message.role === "assistant" && message.state === "running"
      ? { ...message, state: "stopped" as const }
      : message,
  );
  return restored({ ...conversation, messages });
}

/** A conversation after loading: settings added since it was saved take their defaults. */
export function restored(conversation: Conversation): Conversation {
  return { ...conversation, settings: { ...DEFAULT_SETTINGS, ...conversation.settings } };
}

/** Answers that run, in any tab or none. */
export function runningAnswers({ messages }: Conversation): readonly AssistantMessage[] {
  return messages
    .filter((message) => message.role === "assistant")
    .filter(({ state }) => state === "running");
}

/** Whether an answer ended early and can be continued: it ends with text. */
export function isCut({ state, finish, code, parts }: AssistantMessage): boolean {
  const isEarly = state === "stopped" || state === "failed" || finish === "length";
  return isEarly && code !== "context_length_exceeded" && parts.at(-1)?.type === "text";
}

/** Text of an answer, without reasoning and tool calls. */
export function answerText({ parts }: AssistantMessage): string {
  return parts
    .filter((part) => part.type === "text")
    .map(({ text }) => text)
    .join("");
}

/** Whether an answer failed because its conversation is too long: its question would make later ones fail, too. */
export function isTooLong({ state, code, parts }: AssistantMessage): boolean {
  return state === "failed" && code === "context_length_exceeded" && parts.length === 0;
}

/** The messages of the thread that the model gets: without a cut beginning and questions that were too long. */
export function sentMessages(conversation: Conversation): readonly Message[] {
  const messages = thread(conversation);
  const from = messages.findIndex(({ id }) => id === conversation.cut?.from);
  return messages.slice(Math.max(0, from)).filter((message, at, sent) => {
    const next = sent[at + 1];
    const answer = message.role === "assistant" ? message : next?.role === "assistant" ? next : undefined;
    return answer === undefined || !isTooLong(answer);
  });
}

function titleOf({ text, attachments }: UserMessage): string {
  const line = text.trim().split("\n", 1)[0] ?? "";
  if (line === "") return attachments[0]?.name ?? t.chat.untitled;
  if (line.length <= TITLE_CHARS_MAX) return line;
  const sentence = /^.{8,}?[.!?…。？！](?=\s|$)/u.exec(line)?.[0] ?? line;
  if (sentence.length <= TITLE_CHARS_MAX) return sentence.replace(/[.。]$/, "");
  const start = line.slice(0, TITLE_CHARS_MAX - 1);
  const space = start.lastIndexOf(" ");
  return `${start.slice(0, space > TITLE_CHARS_MAX / 2 ? space : start.length).trimEnd()}…`;
}
