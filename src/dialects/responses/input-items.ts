// Wire schemas of input items. They accept output items, so an answer can be sent back as input.

import { type Static, Type } from "@sinclair/typebox";
import type { Compat } from "../../core/compat.ts";
import { isObject } from "../../core/json.ts";
import { OPEN, orNull } from "../../core/schema-fields.ts";
import { MESSAGES_MAX } from "../shared/limits.ts";
import { fromOpaqueText } from "../shared/compaction.ts";
import { isPresent, typesOf } from "../shared/check.ts";
import { knownParts } from "../shared/foreign.ts";

const id = orNull(Type.String({ description: "Id of the item, if it has one." }));
const CallId = Type.String({ minLength: 1, description: "Links an output to its call." });

const TextContent = Type.Object(
  {
    type: Type.Union([Type.Literal("input_text"), Type.Literal("output_text"), Type.Literal("text")], {
      description: "Kind of the part; all mean text.",
    }),
    text: Type.String({ description: "The text." }),
  },
  { $id: "InputText", description: "Text of a message.", ...OPEN },
);

const Refusal = Type.Object(
  { type: Type.Literal("refusal"), refusal: Type.String({ description: "The text of the refusal." }) },
  { $id: "InputRefusal", description: "What an assistant said instead of an answer.", ...OPEN },
);

const InputFile = Type.Object(
  {
    type: Type.Literal("input_file"),
    file_id: orNull(Type.String({ minLength: 1, description: "Id of an uploaded file." })),
    file_data: orNull(Type.String({ minLength: 1, description: "The file as base64 or a data URL." })),
    file_url: orNull(
      Type.String({ minLength: 1, description: "URL from which the server fetches the file." }),
    ),
    filename: orNull(Type.String({ description: "Name of the file in `file_data`." })),
  },
  { $id: "InputFile", description: "Exactly one of `file_id`, `file_data` and `file_url`.", ...OPEN },
);
export type InputFile = Static<typeof InputFile>;

const InputImage = Type.Object(
  {
    type: Type.Literal("input_image"),
    image_url: orNull(Type.String({ minLength: 1, description: "A base64 data URL, or an http(s) URL." })),
    file_id: orNull(Type.String({ minLength: 1, description: "Id of an uploaded file." })),
    detail: orNull(Type.String({ description: "Accepted without effect." })),
  },
  { $id: "InputImage", description: "Exactly one of `image_url` and `file_id`.", ...OPEN },
);
export type InputImage = Static<typeof InputImage>;

const audioProperties = {
  data: Type.String({ minLength: 1, description: "The audio as base64 or a data URL." }),
  format: orNull(Type.String({ description: "`wav`, `mp3` or `flac`; detected from the bytes." })),
};

const InputAudio = Type.Object(
  {
    type: Type.Literal("input_audio"),
    data: orNull(audioProperties.data),
    format: audioProperties.format,
    input_audio: orNull(Type.Object(audioProperties, { description: "The audio and its format.", ...OPEN })),
  },
  {
    $id: "InputAudio",
    description: "`data`, at the top level or in `input_audio`, as official clients send it.",
    ...OPEN,
  },
);
export type InputAudio = Static<typeof InputAudio>;

const InputVideo = Type.Object(
  {
    type: Type.Literal("input_video"),
    video_url: orNull(Type.String({ minLength: 1, description: "A base64 data URL, or an http(s) URL." })),
    data: orNull(Type.String({ minLength: 1, description: "The video as base64." })),
    file_id: orNull(Type.String({ minLength: 1, description: "Id of an uploaded file." })),
  },
  {
    $id: "InputVideo",
    description: "Exactly one of `video_url`, `data` and `file_id`. Models that take images get its frames.",
    ...OPEN,
  },
);
export type InputVideo = Static<typeof InputVideo>;

const MessagePart = Type.Union([TextContent, Refusal, InputImage, InputAudio, InputVideo, InputFile]);

const MessageItem = Type.Object(
  {
    type: Type.Literal("message", { description: "Optional." }),
    id,
    role: Type.Union(
      [Type.Literal("user"), Type.Literal("assistant"), Type.Literal("system"), Type.Literal("developer")],
      { description: "Who wrote it." },
    ),
    content: Type.Union([Type.String(), Type.Array(MessagePart)], {
      description: "Text, or an array of content parts.",
    }),
  },
  { $id: "InputMessage", description: "A message of the conversation.", ...OPEN },
);
export type MessageItem = Static<typeof MessageItem>;

const FunctionCall = Type.Object(
  {
    type: Type.Literal("function_call"),
    id,
    call_id: CallId,
    name: Type.String({ description: "Name of the function.", minLength: 1 }),
    namespace: orNull(Type.String({ description: "Namespace of the function." })),
    arguments: Type.String({ description: "JSON text." }),
  },
  { $id: "InputFunctionCall", description: "An earlier function call of the model.", ...OPEN },
);

const ToolOutput = orNull(
  Type.Union([Type.String(), Type.Array(MessagePart)], {
    description: "What the tool returned: text, or content parts.",
  }),
);

const FunctionOutput = Type.Object(
  {
    type: Type.Literal("function_call_output"),
    id,
    call_id: CallId,
    output: ToolOutput,
  },
  { $id: "InputFunctionCallOutput", description: "Result of a function call.", ...OPEN },
);

export type FunctionOutput = Static<typeof FunctionOutput>;

const texts = Type.Array(Type.Object({ text: Type.String({ description: "The text." }) }, OPEN), {
  description: "Pieces of the reasoning.",
});
const Reasoning = Type.Object(
  {
    type: Type.Literal("reasoning"),
    id,
    summary: orNull(texts),
    content: orNull(texts),
  },
  { $id: "InputReasoning", description: "Reasoning of an earlier answer.", ...OPEN },
);

const ShellCall = Type.Object(
  {
    type: Type.Literal("shell_call"),
    id,
    call_id: CallId,
    action: Type.Object(
      { commands: Type.Array(Type.String(), { description: "Commands of the call." }) },
      { description: "What was to run.", ...OPEN },
    ),
  },
  { $id: "InputShellCall", description: "An earlier call of the shell.", ...OPEN },
);

const ShellOutput = Type.Object(
  {
    type: Type.Literal("shell_call_output"),
    id,
    call_id: CallId,
    output: Type.Array(Type.Object({}, OPEN), { description: "Output of each command." }),
  },
  { $id: "InputShellCallOutput", description: "Result of a shell call.", ...OPEN },
);

const CustomCall = Type.Object(
  {
    type: Type.Literal("custom_tool_call"),
    id,
    call_id: CallId,
    name: Type.String({ description: "Name of the tool.", minLength: 1 }),
    input: Type.String({ description: "What the model wrote for the tool." }),
  },
  { $id: "InputCustomToolCall", description: "An earlier call of a tool that takes text.", ...OPEN },
);

const CustomOutput = Type.Object(
  { type: Type.Literal("custom_tool_call_output"), id, call_id: CallId, output: ToolOutput },
  { $id: "InputCustomToolCallOutput", description: "Result of such a call.", ...OPEN },
);

/** Calls, results and notes of tools that other servers run; hosted-items.ts tells what each says. */
export const HOSTED_ITEM_TYPES = [
  "apply_patch_call",
  "apply_patch_call_output",
  "code_interpreter_call",
  "computer_call",
  "computer_call_output",
  "file_search_call",
  "image_generation_call",
  "local_shell_call",
  "local_shell_call_output",
  "mcp_approval_request",
  "mcp_approval_response",
  "mcp_call",
  "compaction",
  "compaction_summary",
  "tool_search_call",
  "tool_search_output",
  "web_search_call",
] as const;

const HostedItem = Type.Object(
  {
    type: Type.Union(
      HOSTED_ITEM_TYPES.map((type) => Type.Literal(type)),
      { description: "Kind of the item." },
    ),
    id,
    call_id: orNull(Type.String({ description: "Links an output to its call." })),
  },
  {
    $id: "InputHostedItem",
    description: "A call of a tool of another server, or its result: the model reads it as text.",
    additionalProperties: Type.Unknown(),
  },
);
export type HostedItem = Static<typeof HostedItem>;

const Reference = Type.Object(
  {
    type: Type.Literal("item_reference"),
    id: Type.String({ description: "Id of an item of the earlier response.", minLength: 1 }),
  },
  { $id: "ItemReference", description: "An item of a stored response.", ...OPEN },
);

const InputItem = Type.Union(
  [
    MessageItem,
    FunctionCall,
    FunctionOutput,
    CustomCall,
    CustomOutput,
    Reasoning,
    ShellCall,
    ShellOutput,
    HostedItem,
    Reference,
  ],
  { $id: "InputItem", description: "A part of the conversation; its fields depend on `type`." },
);
/** An item as sent. */
export type SentItem = Static<typeof InputItem>;
/** An item that is not a reference. */
export type InputItem = Exclude<SentItem, { readonly type: "item_reference" }>;

export const ResponsesInput = Type.Union(
  [Type.String(), Type.Array(InputItem, { minItems: 1, maxItems: MESSAGES_MAX })],
  { $id: "ResponsesInput", description: "A string is one user message." },
);

const KNOWN_ITEMS = typesOf(InputItem);
const KNOWN_PARTS = typesOf(MessagePart);

/** Says nothing, so it stands for an item that is left out. */
export const NO_ITEM: Extract<InputItem, { type: "reasoning" }> = { type: "reasoning", summary: [] };
const NO_PART = { type: "input_text", text: "" };

/**
 * Adds the optional types of messages and bare references, and leaves out items and parts of unknown types. Runs before the
 * schema check.
 */
export function knownItems(input: unknown, compat: Compat): unknown {
  if (!Array.isArray(input)) return input;
  const typed = input.map(withItemType).map(markedCompaction);
  const items = knownParts(typed, { compat, known: READABLE_ITEMS, empty: NO_ITEM, mayEmpty: false });
  if (!Array.isArray(items)) return items;
  return items.map((item: unknown, index) =>
    isObject(item) && item["type"] === OWN_COMPACTION
      ? { ...item, type: "compaction" }
      : withKnownParts(item, index === items.length - 1, compat),
  );
}

const OWN_COMPACTION = "svc_compaction";
const COMPACTIONS: ReadonlySet<unknown> = new Set(["compaction", "compaction_summary"]);
const READABLE_ITEMS: typeof KNOWN_ITEMS = new Set([
  ...[...KNOWN_ITEMS].filter((type) => !COMPACTIONS.has(type)),
  OWN_COMPACTION,
]);

/** A compaction that this server can read, under a type of its own: others are left out as unknown. */
function markedCompaction(item: unknown): unknown {
  if (!isObject(item) || !COMPACTIONS.has(item["type"])) return item;
  return fromOpaqueText(item["encrypted_content"]) === undefined ? item : { ...item, type: OWN_COMPACTION };
}

/** Items with parts. */
const READ_ITEMS: ReadonlySet<unknown> = new Set([
  "message",
  "function_call_output",
  "custom_tool_call_output",
]);

function withKnownParts(item: unknown, isLast: boolean, compat: Compat): unknown {
  if (!isObject(item) || !READ_ITEMS.has(item["type"])) return item;
  const field = item["type"] === "message" ? "content" : "output";
  if (!Array.isArray(item[field])) return item;
  const mayEmpty = !isLast || field === "output";
  const rules = { compat, known: KNOWN_PARTS, empty: NO_PART, adapted: textPart, mayEmpty };
  return { ...item, [field]: knownParts(item[field], rules) };
}

/** A part of another type that has text, such as a summary. */
function textPart({ text }: Readonly<Record<string, unknown>>) {
  return typeof text === "string" ? { type: "input_text", text } : undefined;
}

function withItemType(item: unknown): unknown {
  if (!isObject(item) || isPresent(item["type"])) return item;
  if (isPresent(item["role"])) return { ...item, type: "message" };
  return isPresent(item["id"]) ? { ...item, type: "item_reference" } : item;
}
