// Wire schemas of input items. They accept output items, so an answer can be sent back as input.

import { type Static, Type } from "@sinclair/typebox";
import { MESSAGES_MAX } from "../shared/limits.ts";
import { isPresent, isRecord, orNull } from "../shared/check.ts";

const OPEN = { additionalProperties: true } as const;

const id = orNull(Type.String({ description: "Id of the item, if it has one." }));
const CallId = Type.String({ minLength: 1, description: "Links an output to its call." });

const TextContent = Type.Object(
  {
    type: Type.Union([Type.Literal("input_text"), Type.Literal("output_text"), Type.Literal("text")]),
    text: Type.String(),
  },
  { $id: "InputText", ...OPEN },
);

const Refusal = Type.Object(
  { type: Type.Literal("refusal"), refusal: Type.String() },
  { $id: "InputRefusal", ...OPEN },
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
    input_audio: orNull(Type.Object(audioProperties, OPEN)),
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
    role: Type.Union([
      Type.Literal("user"),
      Type.Literal("assistant"),
      Type.Literal("system"),
      Type.Literal("developer"),
    ]),
    content: Type.Union([Type.String(), Type.Array(MessagePart)]),
  },
  { $id: "InputMessage", ...OPEN },
);
export type MessageItem = Static<typeof MessageItem>;

const FunctionCall = Type.Object(
  {
    type: Type.Literal("function_call"),
    id,
    call_id: CallId,
    name: Type.String({ minLength: 1 }),
    namespace: orNull(Type.String({ description: "Namespace of the function." })),
    arguments: Type.String({ description: "JSON text." }),
  },
  { $id: "InputFunctionCall", description: "An earlier function call of the model.", ...OPEN },
);

const FunctionOutput = Type.Object(
  {
    type: Type.Literal("function_call_output"),
    id,
    call_id: CallId,
    output: Type.Union([Type.String(), Type.Array(Type.Union([TextContent, InputImage]))]),
  },
  { $id: "InputFunctionCallOutput", description: "Result of a function call.", ...OPEN },
);

export type FunctionOutput = Static<typeof FunctionOutput>;

const texts = Type.Array(Type.Object({ text: Type.String() }, OPEN));
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
    action: Type.Object({ commands: Type.Array(Type.String()) }, OPEN),
  },
  { $id: "InputShellCall", ...OPEN },
);

const ShellOutput = Type.Object(
  {
    type: Type.Literal("shell_call_output"),
    id,
    call_id: CallId,
    output: Type.Array(Type.Object({}, OPEN)),
  },
  { $id: "InputShellCallOutput", ...OPEN },
);

const Reference = Type.Object(
  { type: Type.Literal("item_reference"), id: Type.String({ minLength: 1 }) },
  { $id: "ItemReference", description: "An item of a stored response.", ...OPEN },
);

const InputItem = Type.Union(
  [MessageItem, FunctionCall, FunctionOutput, Reasoning, ShellCall, ShellOutput, Reference],
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

/** Adds the optional types of messages and bare references. Runs before the schema check. */
export function withItemTypes(input: unknown): unknown {
  return Array.isArray(input) ? input.map(withItemType) : input;
}

function withItemType(item: unknown): unknown {
  if (!isRecord(item) || isPresent(item["type"])) return item;
  if (isPresent(item["role"])) return { ...item, type: "message" };
  return isPresent(item["id"]) ? { ...item, type: "item_reference" } : item;
}
