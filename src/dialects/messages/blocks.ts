// Wire schemas of content blocks, messages and the system text. content.ts converts them.

import { type Static, Type } from "@sinclair/typebox";
import type { Compat } from "../../core/compat.ts";
import { isObject } from "../../core/json.ts";
import { OPEN, orNull } from "../../core/schema-fields.ts";
import { typesOf } from "../shared/check.ts";
import { knownParts } from "../shared/foreign.ts";
import { jsonObject } from "../shared/json-object.ts";

/** Marker for Anthropic's prompt cache. The prefix cache ignores it, but requests with one get cache counts in usage. */
export const cacheProperties = {
  cache_control: orNull(
    jsonObject("Does not affect caching. If the request has any, usage reports cached tokens separately."),
  ),
};

const blockProperties = {
  ...cacheProperties,
  citations: Type.Optional(Type.Unknown({ description: "Accepted without effect." })),
};

const TextBlock = Type.Object(
  { type: Type.Literal("text"), text: Type.String({ description: "The text." }), ...blockProperties },
  OPEN,
);
export type TextBlock = Static<typeof TextBlock>;

const mediaType = orNull(Type.String({ description: "MIME type, such as `application/pdf`." }));

const Source = Type.Union(
  [
    Type.Object(
      {
        type: Type.Literal("base64"),
        media_type: mediaType,
        data: Type.String({ description: "The content: base64, or text for `text`.", minLength: 1 }),
      },
      OPEN,
    ),
    Type.Object(
      {
        type: Type.Literal("text"),
        media_type: mediaType,
        data: Type.String({ description: "The content: base64, or text for `text`." }),
      },
      OPEN,
    ),
    Type.Object(
      { type: Type.Literal("url"), url: Type.String({ description: "An http(s) URL.", minLength: 1 }) },
      OPEN,
    ),
    Type.Object(
      {
        type: Type.Literal("file"),
        file_id: Type.String({ description: "Id of an uploaded file.", minLength: 1 }),
      },
      OPEN,
    ),
    Type.Object(
      {
        type: Type.Literal("content"),
        content: Type.Union([Type.String(), Type.Array(TextBlock)], {
          description: "Text, or blocks of text.",
        }),
      },
      OPEN,
    ),
  ],
  { $id: "MessagesImageSource", description: "Source of an image or a document." },
);
export type Source = Static<typeof Source>;

const ImageBlock = Type.Object({ type: Type.Literal("image"), source: Source, ...blockProperties }, OPEN);
export type ImageBlock = Static<typeof ImageBlock>;

const DocumentBlock = Type.Object(
  {
    type: Type.Literal("document"),
    source: Source,
    title: orNull(Type.String({ description: "File name of the document." })),
    context: orNull(Type.String({ description: "Information about the document for the model." })),
    ...blockProperties,
  },
  OPEN,
);
export type DocumentBlock = Static<typeof DocumentBlock>;

const ToolUseBlock = Type.Object(
  {
    type: Type.Literal("tool_use"),
    id: Type.String({ minLength: 1, description: "Referred to by `tool_use_id` of the result." }),
    name: Type.String({ description: "Name of the tool.", minLength: 1 }),
    input: orNull(
      Type.Union([jsonObject(), Type.String()], { description: "The arguments; a text is their JSON." }),
    ),
    ...blockProperties,
  },
  OPEN,
);
export type ToolUseBlock = Static<typeof ToolUseBlock>;

/** Blocks of other servers that are text, each in fields of its own. */
const NOTE_TYPES = ["compaction", "container_upload", "search_result", "tool_reference"] as const;
const NoteBlock = Type.Object(
  {
    type: Type.Union(
      NOTE_TYPES.map((type) => Type.Literal(type)),
      { description: "Kind of the block." },
    ),
    ...blockProperties,
  },
  { description: "The model reads it as text.", additionalProperties: Type.Unknown() },
);
export type NoteBlock = Static<typeof NoteBlock>;

const ResultPart = Type.Union([TextBlock, ImageBlock, DocumentBlock, NoteBlock]);

const failedProperty = orNull(Type.Boolean({ description: "The tool failed; `content` has the reason." }));

const ToolResultBlock = Type.Object(
  {
    type: Type.Literal("tool_result"),
    tool_use_id: Type.String({ minLength: 1, description: "Id of the call." }),
    content: orNull(
      Type.Union([Type.String(), Type.Array(ResultPart)], {
        description: "What the tool returned: text, or content blocks.",
      }),
    ),
    is_error: failedProperty,
    ...blockProperties,
  },
  OPEN,
);
export type ToolResultBlock = Static<typeof ToolResultBlock>;

const HostedUseBlock = Type.Object(
  {
    type: Type.Union([Type.Literal("server_tool_use"), Type.Literal("mcp_tool_use")], {
      description: "Kind of the call.",
    }),
    id: Type.String({ minLength: 1, description: "Referred to by `tool_use_id` of the result." }),
    name: Type.String({ description: "Name of the tool.", minLength: 1 }),
    input: orNull(
      Type.Union([jsonObject(), Type.String()], { description: "The arguments; a text is their JSON." }),
    ),
    server_name: orNull(Type.String({ description: "Accepted without effect." })),
    ...blockProperties,
  },
  { description: "A call of a tool that another server ran.", ...OPEN },
);
export type HostedUseBlock = Static<typeof HostedUseBlock>;

const HostedResultBlock = Type.Object(
  {
    type: Type.Union(
      [
        Type.Literal("hosted_tool_result"),
        Type.Literal("mcp_tool_result"),
        Type.Literal("web_search_tool_result"),
        Type.Literal("web_fetch_tool_result"),
        Type.Literal("code_execution_tool_result"),
        Type.Literal("bash_code_execution_tool_result"),
        Type.Literal("text_editor_code_execution_tool_result"),
        Type.Literal("tool_search_tool_result"),
      ],
      { description: "Kind of the result." },
    ),
    tool_use_id: Type.String({ minLength: 1, description: "Id of the call." }),
    content: Type.Optional(Type.Unknown({ description: "The model reads it as text." })),
    is_error: failedProperty,
    ...blockProperties,
  },
  { description: "The result of such a call.", ...OPEN },
);
export type HostedResultBlock = Static<typeof HostedResultBlock>;

const ThinkingBlock = Type.Object(
  {
    type: Type.Literal("thinking"),
    thinking: Type.String({ description: "The reasoning." }),
    signature: orNull(Type.String({ description: "Accepted without effect." })),
    ...blockProperties,
  },
  OPEN,
);

const RedactedThinkingBlock = Type.Object(
  {
    type: Type.Literal("redacted_thinking"),
    data: orNull(Type.String({ description: "Encrypted; ignored." })),
    ...blockProperties,
  },
  OPEN,
);

const ContentBlock = Type.Union(
  [
    TextBlock,
    ImageBlock,
    DocumentBlock,
    ToolUseBlock,
    ToolResultBlock,
    ThinkingBlock,
    RedactedThinkingBlock,
    HostedUseBlock,
    HostedResultBlock,
    NoteBlock,
  ],
  { $id: "MessagesContentBlock", description: "A part of a message; its fields depend on `type`." },
);
export type ContentBlock = Static<typeof ContentBlock>;

const MessageContent = Type.Union([Type.String(), Type.Array(ContentBlock)], {
  $id: "MessagesMessageContent",
  description: "Text, or an array of content blocks.",
});
export type MessageContent = Static<typeof MessageContent>;

export const Message = Type.Object(
  {
    role: Type.Union([Type.Literal("user"), Type.Literal("assistant"), Type.Literal("system")], {
      description: "Who wrote it.",
    }),
    content: Type.Union([MessageContent, Type.Null()]),
  },
  { $id: "MessagesMessage", description: "One message of the conversation.", ...OPEN },
);
export type Message = Static<typeof Message>;

export const System = Type.Union([Type.String(), Type.Array(TextBlock)], {
  $id: "MessagesSystem",
  description: "Instructions before the conversation.",
});
export type System = Static<typeof System>;

const RESULT_PARTS = typesOf(ResultPart);
const KNOWN_BLOCKS = typesOf(ContentBlock);
const NO_BLOCK = { type: "text", text: "" };

/** Messages without blocks of unknown types, for the schema check. */
export function knownBlocks(messages: unknown, compat: Compat): unknown {
  if (!Array.isArray(messages)) return messages;
  return messages.map((message: unknown, index) => {
    if (!isObject(message)) return message;
    const mayEmpty = index < messages.length - 1;
    const rules = { compat, known: KNOWN_BLOCKS, empty: NO_BLOCK, adapted, mayEmpty };
    const blocks = knownParts(message["content"], rules);
    if (!Array.isArray(blocks)) return message;
    return { ...message, content: blocks.map((block: unknown) => withKnownParts(block, compat)) };
  });
}

function withKnownParts(block: unknown, compat: Compat): unknown {
  if (!isObject(block) || block["type"] !== "tool_result" || !Array.isArray(block["content"])) return block;
  const rules = { compat, known: RESULT_PARTS, empty: NO_BLOCK, adapted, mayEmpty: true };
  return { ...block, content: knownParts(block["content"], rules) };
}

/** Results of future tools are results; other blocks with text are text. */
function adapted(block: Readonly<Record<string, unknown>>) {
  const { type, tool_use_id: id, text } = block;
  if (String(type).endsWith("_tool_result") && typeof id === "string")
    return { ...block, type: "hosted_tool_result" };
  return typeof text === "string" ? { type: "text", text } : undefined;
}
