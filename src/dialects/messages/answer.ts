// Wire schemas of answers: the body, and the stream events that fold into it.
// The three input counts add up to the prompt, which equals `count_tokens`. Tokens from the cache are counted apart only where the request
// has a `cache_control`: clients without it add nothing up.

import { count } from "../../core/schema-fields.ts";
import { progressEventProperties } from "../shared/progress.ts";
import { type Static, Type } from "@sinclair/typebox";
import type { FinishReason, RunEvent, Usage } from "../../core/run.ts";
import { agentAnswerProperties } from "../shared/agent-events.ts";
import { jsonObject } from "../shared/json-object.ts";
import { argumentsObject } from "../shared/call-arguments.ts";
import type { AnswerEvent } from "../../core/agent.ts";
import type { AppliedEdit, SummaryTokens } from "../../core/applied-edit.ts";
import { type Compaction, opaqueText } from "../shared/compaction.ts";
import type { SearchComplete } from "../shared/tool-search.ts";
import { fingerprintProperties } from "../shared/sampling.ts";
import { closedThoughts, closedThoughtsOf } from "../shared/usage.ts";

/**
 * Placeholder for Anthropic's signature of thinking blocks. Clients return blocks unchanged, and some drop blocks without
 * a signature. A returned signature is not checked.
 */
export const SIGNATURE = "svc";

const Iteration = Type.Object(
  {
    type: Type.Union([Type.Literal("compaction"), Type.Literal("message")], {
      description: "What was written.",
    }),
    input_tokens: count("Tokens of the prompt, without those in `cache_read_input_tokens`."),
    cache_creation_input_tokens: count("Always 0."),
    cache_read_input_tokens: count("Prompt tokens taken from the prefix cache."),
    output_tokens: count("Generated tokens."),
  },
  { $id: "MessagesIteration", description: "Token counts of a summary, or of the answer." },
);

const MessagesUsage = Type.Object(
  {
    input_tokens: count("Tokens of the prompt, without those in `cache_read_input_tokens`."),
    cache_creation_input_tokens: count("Always 0: the prefix cache needs no explicit writes."),
    cache_read_input_tokens: count(
      "Prompt tokens taken from the prefix cache if the request has any `cache_control`, otherwise 0.",
    ),
    output_tokens: count("Generated tokens."),
    output_tokens_details: Type.Object(
      {
        thinking_tokens: count("Generated reasoning tokens."),
        closed_thoughts: Type.Optional(closedThoughts),
      },
      { description: "Parts of `output_tokens`." },
    ),
    iterations: Type.Optional(
      Type.Array(Iteration, {
        description:
          "Where summaries were written: their tokens, which the other counts leave out, and the answer's.",
      }),
    ),
  },
  { $id: "MessagesUsage", description: "Token counts. The three input counts add up to the prompt." },
);
export type MessagesUsage = Static<typeof MessagesUsage>;

/** The wire form of a run's token counts. `countsCached`: report cached tokens separately. Summaries are counted apart. */
export function usageBody(
  usage: Usage,
  countsCached: boolean,
  edits: readonly AppliedEdit[] = [],
): MessagesUsage {
  const spent = compactionsOf(edits)
    .map((edit) => edit.spent)
    .filter(({ promptTokens }) => promptTokens > 0);
  const own = spent.reduce<SummaryTokens>(
    (left, one) => ({
      promptTokens: Math.max(0, left.promptTokens - one.promptTokens),
      cachedTokens: Math.max(0, left.cachedTokens - one.cachedTokens),
      completionTokens: Math.max(0, left.completionTokens - one.completionTokens),
    }),
    usage,
  );
  const message = countsOf(own, countsCached);
  return {
    ...message,
    output_tokens_details: { thinking_tokens: usage.reasoningTokens, ...closedThoughtsOf(usage) },
    ...(spent.length === 0
      ? {}
      : {
          iterations: [
            ...spent.map((one) => ({ type: "compaction" as const, ...countsOf(one, countsCached) })),
            ...(own.promptTokens === 0 ? [] : [{ type: "message" as const, ...message }]),
          ],
        }),
  };
}

function countsOf({ promptTokens, cachedTokens, completionTokens }: SummaryTokens, countsCached: boolean) {
  const cached = countsCached ? cachedTokens : 0;
  return {
    input_tokens: promptTokens - cached,
    cache_creation_input_tokens: 0,
    cache_read_input_tokens: cached,
    output_tokens: completionTokens,
  };
}

const ResponseContentBlock = Type.Union(
  [
    Type.Object({ type: Type.Literal("text"), text: Type.String({ description: "The text." }) }),
    Type.Object({
      type: Type.Literal("thinking"),
      thinking: Type.String({ description: "The reasoning." }),
      signature: Type.String({ description: "A placeholder; reasoning is not signed." }),
    }),
    Type.Object({
      type: Type.Literal("tool_use"),
      id: Type.String({ description: "Id that the result has to name." }),
      name: Type.String({ description: "Name of the tool." }),
      input: jsonObject("The arguments; empty if the answer was truncated within them."),
    }),
    Type.Object({
      type: Type.Literal("compaction"),
      content: Type.String({ description: "A summary of old turns." }),
      encrypted_content: Type.String({ description: "Send it back; it stands for all turns before it." }),
    }),
    Type.Object({
      type: Type.Literal("server_tool_use"),
      id: Type.String({ description: "Id that the result names." }),
      name: Type.String({ description: "Name of the search for tools." }),
      input: jsonObject("What was searched for."),
    }),
    Type.Object({
      type: Type.Literal("tool_search_tool_result"),
      tool_use_id: Type.String({ description: "Id of the search." }),
      content: Type.Object(
        {
          type: Type.Literal("tool_search_tool_search_result"),
          tool_references: Type.Array(
            Type.Object({
              type: Type.Literal("tool_reference"),
              tool_name: Type.String({ description: "Name of a tool that was found." }),
            }),
            { description: "References to tools of the request." },
          ),
        },
        { description: "The tools that were found." },
      ),
    }),
  ],
  { $id: "MessagesResponseContentBlock", description: "A part of the answer." },
);
export type ResponseContentBlock = Static<typeof ResponseContentBlock>;

/** The blocks of what the server has done. */
export function deedBlocks(
  event: SearchComplete | Extract<AnswerEvent, { type: "context_edited" }>,
): readonly ResponseContentBlock[] {
  if (event.type === "context_edited") return compactionsOf(event.edits).map(compactionBlock);
  return searchBlocks(event);
}

/** The block of a compaction. */
function compactionBlock(edit: Compaction): ResponseContentBlock {
  return { type: "compaction", content: edit.summary, encrypted_content: opaqueText(edit) };
}

/** The compactions among edits. */
function compactionsOf(edits: readonly AppliedEdit[]): readonly Compaction[] {
  return edits.filter((edit) => edit.type === "compaction");
}

/** The blocks of a search for tools that the server has executed. */
function searchBlocks(event: SearchComplete): readonly [ResponseContentBlock, ResponseContentBlock] {
  const id = event.callId.replace(/^call_/, "srvtoolu_");
  const references = event.data.tools.map(({ name }) => ({
    type: "tool_reference" as const,
    tool_name: name,
  }));
  return [
    { type: "server_tool_use", id, name: event.toolName, input: argumentsObject(event.arguments) },
    {
      type: "tool_search_tool_result",
      tool_use_id: id,
      content: { type: "tool_search_tool_search_result", tool_references: references },
    },
  ];
}

const StopReason = Type.Union(
  [
    Type.Literal("end_turn"),
    Type.Literal("max_tokens"),
    Type.Literal("stop_sequence"),
    Type.Literal("tool_use"),
    Type.Literal("refusal"),
    Type.Literal("compaction"),
  ],
  { description: "Why the answer ended." },
);
type StopReason = Static<typeof StopReason>;

const stopProperties = {
  stop_reason: StopReason,
  stop_sequence: Type.Union([Type.String(), Type.Null()], {
    description: "The member of `stop_sequences` that ended the answer.",
  }),
};

/** Why an answer ended. */
export interface Stop {
  readonly stop_reason: StopReason;
  readonly stop_sequence: string | null;
}

type Ending = Pick<Extract<RunEvent, { type: "choice_end" }>, "reason" | "stop" | "isPaused">;

/** The wire form of a choice's end. */
export function stopBody({ reason, stop, isPaused }: Ending): Stop {
  if (isPaused === true) return { stop_reason: "compaction", stop_sequence: null };
  if (stop !== undefined) return { stop_reason: "stop_sequence", stop_sequence: stop };
  return { stop_reason: STOP_REASONS[reason], stop_sequence: null };
}

const STOP_REASONS: Readonly<Record<FinishReason, StopReason>> = {
  stop: "end_turn",
  length: "max_tokens",
  tool_calls: "tool_use",
  content_filter: "refusal",
};

const messageProperties = {
  id: Type.String({ description: "Unique id of this answer." }),
  type: Type.Literal("message"),
  role: Type.Literal("assistant"),
  model: Type.String({ description: "Id of the model that answered." }),
};

const { session_id, files, cut_files, context_management } = agentAnswerProperties;

export const MessagesResponse = Type.Object(
  {
    ...messageProperties,
    content: Type.Array(ResponseContentBlock),
    ...stopProperties,
    usage: MessagesUsage,
    session_id,
    files,
    cut_files,
    context_management,
    ...fingerprintProperties,
  },
  { $id: "MessagesMessageResponse", description: "A complete answer." },
);
export type MessagesResponse = Static<typeof MessagesResponse>;

export const CountTokensResponse = Type.Object(
  { input_tokens: count("Tokens of the prompt.") },
  { $id: "MessagesCountTokensResponse", description: "Size of a prompt." },
);
export type CountTokensResponse = Static<typeof CountTokensResponse>;

const index = Type.Integer({ minimum: 0, description: "Index of the content block." });

const Delta = Type.Union(
  [
    Type.Object({
      type: Type.Literal("text_delta"),
      text: Type.String({ description: "Next characters of the text." }),
    }),
    Type.Object({
      type: Type.Literal("thinking_delta"),
      thinking: Type.String({ description: "Next characters of the reasoning." }),
    }),
    Type.Object({
      type: Type.Literal("compaction_delta"),
      content: Type.String({ description: "The summary." }),
      encrypted_content: Type.String({ description: "What the block stands for." }),
    }),
    Type.Object({
      type: Type.Literal("signature_delta"),
      signature: Type.String({ description: "A placeholder; reasoning is not signed." }),
    }),
    Type.Object({
      type: Type.Literal("input_json_delta"),
      partial_json: Type.String({ description: "The next part of the arguments' JSON text." }),
    }),
  ],
  { description: "What is new." },
);

export const MessagesStreamEvent = Type.Union(
  [
    Type.Object({
      type: Type.Literal("message_start"),
      message: Type.Object(
        {
          ...messageProperties,
          content: Type.Array(ResponseContentBlock, { maxItems: 0 }),
          stop_reason: Type.Null({ description: "Null until the end." }),
          stop_sequence: Type.Null({ description: "Null until the end." }),
          usage: MessagesUsage,
        },
        { description: "The answer so far." },
      ),
    }),
    Type.Object({
      type: Type.Literal("content_block_start"),
      index,
      content_block: ResponseContentBlock,
    }),
    Type.Object({
      type: Type.Literal("content_block_delta"),
      index,
      delta: Delta,
    }),
    Type.Object({ type: Type.Literal("content_block_stop"), index }),
    Type.Object({
      type: Type.Literal("message_delta"),
      delta: Type.Object(
        { ...stopProperties, session_id, cut_files, ...fingerprintProperties },
        { description: "What is new." },
      ),
      context_management,
      usage: MessagesUsage,
    }),
    Type.Object({ type: Type.Literal("message_stop") }),
    Type.Object({ type: Type.Literal("ping"), ...progressEventProperties }),
    Type.Object({
      type: Type.Literal("error"),
      error: Type.Object(
        {
          type: Type.String({ description: "Class of the code." }),
          message: Type.String({ description: "What is wrong and how to fix it, for people." }),
          code: Type.String({ description: "Error code, for programs." }),
        },
        { description: "What went wrong." },
      ),
    }),
  ],
  { $id: "MessagesStreamEvent", description: "Data of a stream event; the event is named like `type`." },
);
export type MessagesStreamEvent = Static<typeof MessagesStreamEvent>;
