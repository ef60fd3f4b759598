// Wire schemas of chat completions: request, response and chunk. Each schema is the validator, the static type and the
// OpenAPI component of the same name. Unknown fields are accepted everywhere.

import { type Static, Type } from "@sinclair/typebox";
import { OPEN, orNull } from "../../core/schema-fields.ts";
import { MESSAGES_MAX } from "../shared/limits.ts";
import { TOOLS_MAX } from "../../core/limits.ts";
import { adapterProperties } from "../shared/adapter.ts";
import { answerProperties } from "../shared/answer.ts";
import { grammarProperties, responseFormatProperties } from "../shared/constraint.ts";
import { CustomTool, NestedCustomTool } from "../shared/custom-tools.ts";
import { keepAliveProperties } from "../shared/keep-alive.ts";
import { progressEventProperties, progressProperties } from "../shared/progress.ts";
import {
  choiceEndProperties,
  choicesProperties,
  maxTokensProperties,
  samplingProperties,
  endProperties,
  samenessProperties,
  stopProperties,
  streamProperties,
  truncateProperties,
} from "../shared/sampling.ts";
import { agentProperties, CodeInterpreterTool } from "../shared/agent.ts";
import { agentAnswerProperties } from "../shared/agent-events.ts";
import { reasoningFieldProperties, thinkingProperties } from "../shared/thinking-fields.ts";
import { FUNCTION_TOOLS, toolChoiceProperties } from "../shared/tools.ts";
import { CompletionUsageResponse } from "../shared/usage.ts";
import { WebSearchOptions } from "../shared/web-search.ts";
import { CustomCallMade, CustomToolCall, ToolCall, ToolCallDelta, ToolCallMade } from "./calls.ts";
import { ChoiceLogprobs, logprobsProperties } from "./logprobs.ts";

const TextPart = Type.Object(
  { type: Type.Literal("text"), text: Type.String({ description: "The text." }) },
  { $id: "TextPart", description: "Text of a message.", ...OPEN },
);

const FilePart = Type.Object(
  {
    type: Type.Literal("file"),
    file: Type.Object(
      {
        file_id: orNull(Type.String({ minLength: 1, description: "Id of an uploaded file." })),
        filename: orNull(Type.String({ description: "Name of the file in `file_data`." })),
        file_data: orNull(Type.String({ minLength: 1, description: "The file as a base64 data URL." })),
      },
      { description: "The file, or the id of an uploaded one.", ...OPEN },
    ),
  },
  { $id: "FilePart", description: "A file: `file_id`, or `file_data` with `filename`.", ...OPEN },
);

const MediaUrl = Type.Union(
  [
    Type.String({ minLength: 1 }),
    Type.Object(
      {
        url: Type.String({ minLength: 1, description: "A base64 data URL, or an http(s) URL." }),
        detail: orNull(Type.String({ description: "Accepted without effect." })),
      },
      OPEN,
    ),
  ],
  { description: "The URL, or an object with it." },
);

const ImageUrlPart = Type.Object(
  { type: Type.Literal("image_url"), image_url: MediaUrl },
  { $id: "ImageUrlPart", description: "An image: PNG, JPEG, GIF, BMP, WebP, AVIF, HEIC or TIFF.", ...OPEN },
);

const AudioUrlPart = Type.Object(
  { type: Type.Literal("audio_url"), audio_url: MediaUrl },
  { $id: "AudioUrlPart", description: "Audio by URL: WAV, MP3 or FLAC.", ...OPEN },
);

const InputAudioPart = Type.Object(
  {
    type: Type.Literal("input_audio"),
    input_audio: Type.Object(
      {
        data: Type.String({ minLength: 1, description: "The audio as base64 or a data URL." }),
        format: orNull(Type.String({ description: "`wav`, `mp3` or `flac`; detected from the bytes." })),
      },
      { description: "The audio and its format.", ...OPEN },
    ),
  },
  { $id: "InputAudioPart", description: "Audio: WAV, MP3 or FLAC.", ...OPEN },
);

const VideoUrlPart = Type.Object(
  { type: Type.Literal("video_url"), video_url: MediaUrl },
  { $id: "VideoUrlPart", description: "A video by URL. Models that take images get its frames.", ...OPEN },
);

const InputVideoPart = Type.Object(
  {
    type: Type.Literal("input_video"),
    input_video: Type.Object(
      {
        data: orNull(Type.String({ minLength: 1, description: "The video as base64 or a data URL." })),
        url: orNull(Type.String({ minLength: 1, description: "A base64 data URL, or an http(s) URL." })),
      },
      { description: "The video, or where it is.", ...OPEN },
    ),
  },
  { $id: "InputVideoPart", description: "A video: exactly one of `data` and `url`.", ...OPEN },
);

const RefusalPart = Type.Object(
  { type: Type.Literal("refusal"), refusal: Type.String({ description: "The text of the refusal." }) },
  { $id: "RefusalPart", description: "What an assistant said instead of an answer.", ...OPEN },
);

const MessageContent = Type.Union([Type.String(), Type.Array(TextPart)], {
  $id: "MessageContent",
  description: "Text, or an array of content parts.",
});

const SystemMessage = Type.Object(
  {
    role: Type.Union([Type.Literal("system"), Type.Literal("developer")], {
      description: "`developer` is the newer name of `system`.",
    }),
    content: MessageContent,
    name: orNull(Type.String({ description: "Accepted without effect." })),
  },
  { $id: "SystemMessage", description: "Instructions of the application.", ...OPEN },
);

export const UserPart = Type.Union([
  TextPart,
  ImageUrlPart,
  InputAudioPart,
  AudioUrlPart,
  VideoUrlPart,
  InputVideoPart,
  FilePart,
]);

const UserContent = Type.Union([Type.String(), Type.Array(UserPart)], {
  $id: "UserContent",
  description: "Text, or an array of content parts.",
});

const UserMessage = Type.Object(
  {
    role: Type.Literal("user"),
    content: UserContent,
    name: orNull(Type.String({ description: "Accepted without effect." })),
  },
  { $id: "UserMessage", description: "What the user says.", ...OPEN },
);

const AssistantContent = Type.Union([Type.String(), Type.Array(Type.Union([TextPart, RefusalPart]))], {
  description: "Text, or an array of content parts.",
});

const AssistantMessage = Type.Object(
  {
    role: Type.Literal("assistant"),
    content: orNull(AssistantContent),
    reasoning_content: orNull(Type.String({ description: "The reasoning before the content." })),
    tool_calls: orNull(
      Type.Array(Type.Union([ToolCall, CustomToolCall]), {
        description: "Calls that the answer consisted of.",
      }),
    ),
    name: orNull(Type.String({ description: "Accepted without effect." })),
  },
  { $id: "AssistantMessage", description: "An earlier answer of the model.", ...OPEN },
);

const ToolMessage = Type.Object(
  {
    role: Type.Literal("tool"),
    content: Type.Union([UserContent, Type.Null()]),
    tool_call_id: orNull(Type.String({ description: "Id of the call." })),
    name: orNull(Type.String({ description: "Name of the tool." })),
  },
  { $id: "ToolMessage", description: "The result of a tool call.", ...OPEN },
);

export const Message = Type.Union([SystemMessage, UserMessage, AssistantMessage, ToolMessage], {
  $id: "Message",
  description: "A message of the conversation; its fields depend on `role`.",
});
export type Message = Static<typeof Message>;

const unused = (description: string) => Type.Optional(Type.Unknown({ description }));

export const ChatCompletionRequest = Type.Object(
  {
    model: orNull(Type.String({ description: "Model id; `default` or absent selects the default model." })),
    messages: Type.Union([Type.Array(Message, { minItems: 1, maxItems: MESSAGES_MAX }), Type.String()], {
      description: "The conversation so far; a string is one user message.",
    }),
    continue_final_message: orNull(
      Type.Boolean({
        description:
          "The last message is the beginning of the answer. The model continues it without repeating it.",
      }),
    ),
    ...maxTokensProperties,
    ...samplingProperties,
    ...stopProperties,
    ...choicesProperties,
    ...logprobsProperties,
    ...grammarProperties,
    ...responseFormatProperties,
    tools: orNull(
      Type.Array(Type.Union([...FUNCTION_TOOLS, NestedCustomTool, CustomTool, CodeInterpreterTool]), {
        maxItems: TOOLS_MAX,
        description: "Functions that the model may call, and server-executed tools.",
      }),
    ),
    ...toolChoiceProperties,
    ...agentProperties,
    enable_shell: orNull(Type.Boolean({ description: "Lets the model run shell commands on the server." })),
    web_search_options: orNull(WebSearchOptions),
    ...adapterProperties,
    ...streamProperties,
    ...progressProperties,
    ...truncateProperties,
    ...keepAliveProperties,
    ...samenessProperties,
    ...endProperties,
    reasoning_effort: orNull(
      Type.String({
        description: "`off` (or `none`), `low`, `medium`, `high`, `xhigh`.",
        examples: ["medium"],
      }),
    ),
    enable_thinking: orNull(
      Type.Boolean({ description: "Older field for reasoning on or off. Default on." }),
    ),
    ...thinkingProperties,
    ...reasoningFieldProperties,
    user: unused("Accepted without effect."),
    metadata: unused("Accepted without effect."),
    service_tier: unused("Accepted without effect."),
    parallel_tool_calls: unused(
      "Without effect; with `--compat clients`, `false` means at most one call per answer.",
    ),
    store: unused("Accepted without effect."),
  },
  {
    $id: "ChatCompletionRequest",
    description: "Body of a chat completion request.",
    ...OPEN,
    examples: [
      {
        model: "default",
        messages: [
          { role: "system", content: "You answer in one word." },
          { role: "user", content: "What is the capital of France?" },
        ],
        temperature: 0.7,
        max_tokens: 16,
        stream: false,
      },
    ],
  },
);
export type ChatCompletionRequest = Static<typeof ChatCompletionRequest>;

const FinishReasonWord = Type.Union(
  [Type.Literal("stop"), Type.Literal("length"), Type.Literal("tool_calls"), Type.Literal("content_filter")],
  {
    description:
      "Why the answer ended: by itself or a stop string, by a limit, with tool calls, by an upstream's filter.",
  },
);

export const ChatCompletionResponseMessage = Type.Object(
  {
    role: Type.Literal("assistant"),
    content: Type.Union([Type.String(), Type.Null()], {
      description: "Null if the answer consists of tool calls.",
    }),
    refusal: Type.Null({ description: "Always null: the server does not moderate." }),
    reasoning_content: Type.Optional(Type.String({ description: "The model's reasoning; absent if empty." })),
    tool_calls: Type.Optional(
      Type.Array(Type.Union([ToolCallMade, CustomCallMade]), {
        description: "Calls of the client's functions and tools.",
      }),
    ),
  },
  { $id: "ChatCompletionResponseMessage", description: "The answer." },
);
export type ChatCompletionResponseMessage = Static<typeof ChatCompletionResponseMessage>;

export const ChatCompletionResponseChoice = Type.Object(
  {
    index: Type.Integer({ description: "Position of the choice.", minimum: 0 }),
    message: ChatCompletionResponseMessage,
    logprobs: Type.Union([ChoiceLogprobs, Type.Null()], {
      description: "Log probabilities; null unless requested.",
    }),
    finish_reason: FinishReasonWord,
    ...choiceEndProperties,
  },
  { $id: "ChatCompletionResponseChoice", description: "One of `n` answers." },
);
export type ChatCompletionResponseChoice = Static<typeof ChatCompletionResponseChoice>;

export const ChatCompletionResponse = Type.Object(
  {
    ...answerProperties,
    object: Type.Literal("chat.completion"),
    choices: Type.Array(ChatCompletionResponseChoice),
    usage: CompletionUsageResponse,
    ...agentAnswerProperties,
  },
  { $id: "ChatCompletionResponse", description: "A complete answer." },
);
export type ChatCompletionResponse = Static<typeof ChatCompletionResponse>;

const ChatCompletionChunkDelta = Type.Object(
  {
    role: Type.Optional(Type.Literal("assistant")),
    content: Type.Optional(Type.String({ description: "Next characters of the answer." })),
    reasoning_content: Type.Optional(Type.String({ description: "Next characters of the reasoning." })),
    tool_calls: Type.Optional(Type.Array(ToolCallDelta)),
  },
  { $id: "ChatCompletionChunkDelta", description: "The part of the message in this chunk." },
);

const ChatCompletionChunkChoice = Type.Object(
  {
    index: Type.Integer({ description: "Position of the choice.", minimum: 0 }),
    delta: ChatCompletionChunkDelta,
    logprobs: Type.Optional(ChoiceLogprobs),
    finish_reason: Type.Union([FinishReasonWord, Type.Null()], {
      description: "Why the answer ended; null until it has.",
    }),
    ...choiceEndProperties,
  },
  { $id: "ChatCompletionChunkChoice", description: "Next part of one of `n` answers." },
);

export const ChatCompletionChunkResponse = Type.Object(
  {
    ...answerProperties,
    object: Type.Literal("chat.completion.chunk"),
    choices: Type.Array(ChatCompletionChunkChoice),
    session_id: agentAnswerProperties.session_id,
    cut_files: agentAnswerProperties.cut_files,
    context_management: agentAnswerProperties.context_management,
    ...progressEventProperties,
    usage: Type.Optional(Type.Union([CompletionUsageResponse, Type.Null()])),
  },
  { $id: "ChatCompletionChunkResponse", description: "One `data:` line of a stream." },
);
export type ChatCompletionChunkResponse = Static<typeof ChatCompletionChunkResponse>;

export const ChatInputTokens = Type.Object(
  {
    object: Type.Literal("chat.completion.input_tokens"),
    input_tokens: Type.Integer({ minimum: 0, description: "Tokens of the prompt." }),
  },
  { $id: "ChatInputTokens", description: "Size of a prompt." },
);
export type ChatInputTokens = Static<typeof ChatInputTokens>;
