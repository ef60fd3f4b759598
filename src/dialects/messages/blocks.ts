// Wire schemas of content blocks, messages and the system text. content.ts converts them.

import { type Static, Type } from "@sinclair/typebox";
import { orNull } from "../shared/check.ts";
import { jsonObject } from "../shared/json-object.ts";

const OPEN = { additionalProperties: true } as const;

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

const TextBlock = Type.Object({ type: Type.Literal("text"), text: Type.String(), ...blockProperties }, OPEN);
export type TextBlock = Static<typeof TextBlock>;

const mediaType = orNull(Type.String({ description: "MIME type, such as `application/pdf`." }));

const Source = Type.Union(
  [
    Type.Object(
      { type: Type.Literal("base64"), media_type: mediaType, data: Type.String({ minLength: 1 }) },
      OPEN,
    ),
    Type.Object({ type: Type.Literal("text"), media_type: mediaType, data: Type.String() }, OPEN),
    Type.Object({ type: Type.Literal("url"), url: Type.String({ minLength: 1 }) }, OPEN),
    Type.Object({ type: Type.Literal("file"), file_id: Type.String({ minLength: 1 }) }, OPEN),
    Type.Object(
      { type: Type.Literal("content"), content: Type.Union([Type.String(), Type.Array(TextBlock)]) },
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
    name: Type.String({ minLength: 1 }),
    input: orNull(jsonObject("The arguments.")),
    ...blockProperties,
  },
  OPEN,
);
export type ToolUseBlock = Static<typeof ToolUseBlock>;

const ToolResultBlock = Type.Object(
  {
    type: Type.Literal("tool_result"),
    tool_use_id: Type.String({ minLength: 1, description: "Id of the call." }),
    content: orNull(
      Type.Union([Type.String(), Type.Array(Type.Union([TextBlock, ImageBlock, DocumentBlock]))]),
    ),
    is_error: orNull(Type.Boolean({ description: "The tool failed; `content` has the reason." })),
    ...blockProperties,
  },
  OPEN,
);
export type ToolResultBlock = Static<typeof ToolResultBlock>;

const ThinkingBlock = Type.Object(
  {
    type: Type.Literal("thinking"),
    thinking: Type.String(),
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
  [TextBlock, ImageBlock, DocumentBlock, ToolUseBlock, ToolResultBlock, ThinkingBlock, RedactedThinkingBlock],
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
    role: Type.Union([Type.Literal("user"), Type.Literal("assistant"), Type.Literal("system")]),
    content: MessageContent,
  },
  { $id: "MessagesMessage", description: "One message of the conversation.", ...OPEN },
);
export type Message = Static<typeof Message>;

export const System = Type.Union([Type.String(), Type.Array(TextBlock)], {
  $id: "MessagesSystem",
  description: "Instructions before the conversation.",
});
export type System = Static<typeof System>;
