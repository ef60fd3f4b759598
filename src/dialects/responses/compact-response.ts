// `/v1/responses/compact`: a conversation is compacted and not answered.

import { type Static, Type } from "@sinclair/typebox";
import type { Conversation, InputMessage } from "../../core/agent.ts";
import { assert } from "../../core/assert.ts";
import { defined } from "../../core/defined.ts";
import type { Message } from "../../core/message.ts";
import { CompactionItem, compactionItem } from "./compaction.ts";
import { type ResponseResource, ResponseUsage } from "./resource.ts";

export const CompactedResponse = Type.Object(
  {
    id: Type.String({ description: "Id of the compaction." }),
    object: Type.Literal("response.compaction"),
    created_at: Type.Integer({ description: "Unix seconds." }),
    output: Type.Array(CompactionItem, {
      description: "The input of the next request, before what follows. It has the last turns verbatim.",
    }),
    usage: ResponseUsage,
  },
  { $id: "CompactedResponse", description: "A compacted conversation." },
);
export type CompactedResponse = Static<typeof CompactedResponse>;

const UNSPENT = { promptTokens: 0, cachedTokens: 0, completionTokens: 0 };

/** The answer to a finished response whose conversation was compacted. One without old turns stays as it is, without media. */
export function compactedResponse(
  { id, created_at, output, usage }: ResponseResource,
  { run }: Conversation,
): CompactedResponse {
  assert(usage !== null, "a response has ended");
  const made = output.filter((item) => item.type === "compaction");
  const kept = run.prompt.messages
    .filter(({ role }) => role !== "system" && role !== "developer")
    .map(asText);
  const whole = { type: "compaction", summary: "", replaced: 0, tokens: 0, spent: UNSPENT, kept } as const;
  const items = made.length > 0 ? made : [compactionItem(id.replace(/^resp_/, "cmp_"), whole)];
  return { id, object: "response.compaction", created_at, output: items, usage };
}

function asText({ role, content, toolCalls, toolCallId }: InputMessage): Message {
  const parts = content.map((part) =>
    part.type === "text" ? part : { type: "text" as const, text: `[${part.type}]` },
  );
  return { role, content: parts, ...defined({ toolCalls, toolCallId }) };
}

/** The conversation of a request, to be compacted whatever its length; nothing is answered. */
export function compactionOf({ run, agent }: Conversation): Conversation {
  const { messages } = run.prompt;
  const instructions = {
    messages,
    tools: [],
    toolChoice: { type: "none" as const },
    thinking: { enabled: false },
  };
  return {
    run: { ...run, prompt: { type: "chat", ...instructions }, choices: 1, maxTokens: 0 },
    agent: { ...agent, maxToolRounds: 0, edits: { compact: { tokens: 1 } } },
  };
}
