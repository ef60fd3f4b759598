// Wire schemas of output items: messages, reasoning, function calls, and server-executed shell calls. Items may be sent
// back as input.

import { CompactionItem } from "./compaction.ts";
import { ToolSearchCallItem, ToolSearchOutputItem } from "./tool-search.ts";
import { type Static, Type } from "@sinclair/typebox";
import { TokenLogprobBody } from "../shared/logprobs.ts";

const ItemStatus = Type.Union(
  [Type.Literal("in_progress"), Type.Literal("completed"), Type.Literal("incomplete")],
  { description: "`incomplete`: the answer ended within this item." },
);
export type ItemStatus = Static<typeof ItemStatus>;

const identity = {
  id: Type.String({ description: "Usable in an `item_reference` while the response is stored." }),
  status: ItemStatus,
};

export const FileCitation = Type.Object(
  {
    type: Type.Literal("container_file_citation"),
    container_id: Type.String({ description: "Container of the file." }),
    file_id: Type.String({ description: "Id of the file." }),
    filename: Type.String({ description: "Name of the file." }),
    start_index: Type.Integer({ description: "First character that refers to it.", minimum: 0 }),
    end_index: Type.Integer({ description: "Character after the last that refers to it.", minimum: 0 }),
  },
  { $id: "ContainerFileCitation", description: "A file that a tool produced for this answer." },
);
export type FileCitation = Static<typeof FileCitation>;

const OutputText = Type.Object(
  {
    type: Type.Literal("output_text"),
    text: Type.String({ description: "The text." }),
    annotations: Type.Array(FileCitation),
    logprobs: Type.Array(TokenLogprobBody, { description: "Empty unless requested." }),
  },
  { $id: "OutputContent", description: "Text of a message." },
);
export type OutputText = Static<typeof OutputText>;

const ReasoningText = Type.Object(
  { type: Type.Literal("reasoning_text"), text: Type.String({ description: "The text." }) },
  { $id: "ReasoningText", description: "A piece of reasoning." },
);
export type ReasoningText = Static<typeof ReasoningText>;

/** A content part of an item. */
export const ContentPart = Type.Union([OutputText, ReasoningText], { description: "The part." });
export type ContentPart = Static<typeof ContentPart>;

const MessageItem = Type.Object(
  {
    type: Type.Literal("message"),
    ...identity,
    role: Type.Literal("assistant"),
    content: Type.Array(OutputText),
  },
  { $id: "OutputMessage", description: "A message of the model." },
);

export const SummaryPart = Type.Object(
  { type: Type.Literal("summary_text"), text: Type.String({ description: "The text." }) },
  { description: "A piece of the summary." },
);

const ReasoningItem = Type.Object(
  {
    type: Type.Literal("reasoning"),
    ...identity,
    summary: Type.Array(SummaryPart, {
      description:
        "Empty: the reasoning itself is in `content`. Where asked for under `--compat clients`, here too.",
    }),
    content: Type.Array(ReasoningText),
  },
  { $id: "ReasoningItem", description: "Reasoning of the model." },
);

const FunctionCallItem = Type.Object(
  {
    type: Type.Literal("function_call"),
    ...identity,
    call_id: Type.String({ description: "Referred to by `call_id` of the `function_call_output`." }),
    name: Type.String({ description: "Name of the function." }),
    namespace: Type.Optional(Type.String({ description: "Namespace of the function." })),
    arguments: Type.String({ description: "JSON text." }),
  },
  { $id: "FunctionCallItem", description: "A function call requested by the model." },
);

const CustomCallItem = Type.Object(
  {
    type: Type.Literal("custom_tool_call"),
    ...identity,
    call_id: Type.String({ description: "Referred to by `call_id` of the `custom_tool_call_output`." }),
    name: Type.String({ description: "Name of the tool." }),
    input: Type.String({ description: "What the model wrote for the tool." }),
  },
  { $id: "CustomToolCallItem", description: "A call of a tool that takes one text." },
);

const integerOrNull = Type.Union([Type.Integer(), Type.Null()], {
  description: "As the model set it; null: the server's default.",
});

const ShellCallItem = Type.Object(
  {
    type: Type.Literal("shell_call"),
    ...identity,
    call_id: Type.String({ description: "Links the output to this call." }),
    action: Type.Object(
      {
        commands: Type.Array(Type.String(), { description: "Commands of the call." }),
        timeout_ms: integerOrNull,
        max_output_length: integerOrNull,
      },
      { description: "What runs." },
    ),
    environment: Type.Null({ description: "Always null." }),
  },
  { $id: "ShellCallItem", description: "Shell commands executed by the server." },
);
export type ShellCallItem = Static<typeof ShellCallItem>;

const ShellOutcome = Type.Union(
  [
    Type.Object({
      type: Type.Literal("exit"),
      exit_code: Type.Integer({ description: "Exit status of the command." }),
    }),
    Type.Object({ type: Type.Literal("timeout") }),
  ],
  { description: "How the command ended." },
);

const ShellOutputItem = Type.Object(
  {
    type: Type.Literal("shell_call_output"),
    ...identity,
    call_id: Type.String({ description: "Id of the call." }),
    max_output_length: integerOrNull,
    output: Type.Array(
      Type.Object({
        stdout: Type.String({ description: "Its standard output." }),
        stderr: Type.String({ description: "Its standard error." }),
        outcome: ShellOutcome,
      }),
      { description: "Output of each command." },
    ),
  },
  { $id: "ShellCallOutputItem", description: "Result of the shell commands." },
);
export type ShellOutputItem = Static<typeof ShellOutputItem>;

export const OutputItem = Type.Union(
  [
    MessageItem,
    ReasoningItem,
    FunctionCallItem,
    CustomCallItem,
    ShellCallItem,
    ShellOutputItem,
    ToolSearchCallItem,
    ToolSearchOutputItem,
    CompactionItem,
  ],
  { $id: "OutputItem", description: "A part of the answer; its fields depend on `type`." },
);
export type OutputItem = Static<typeof OutputItem>;
