// `/v1/responses/compact`: a conversation is compacted and not answered. As OpenAI's endpoint it returns the user's messages before the
// item: clients show them, and the item stands for them.

import { type Static, Type } from "@sinclair/typebox";
import type { Conversation } from "../../core/agent.ts";
import { assert } from "../../core/assert.ts";
import { CompactionItem, wholeCompaction } from "./compaction.ts";
import { inputItemId } from "./ids.ts";
import { isPresent } from "../shared/check.ts";
import { type InputItem, NO_ITEM } from "./input-items.ts";
import { type ResponseResource, ResponseUsage } from "./resource.ts";

const KeptMessage = Type.Object(
  {
    type: Type.Literal("message"),
    id: Type.String({ description: "Id of the item." }),
    status: Type.Literal("completed", { description: "Always so." }),
    role: Type.Literal("user", { description: "Who wrote it." }),
    content: Type.Array(Type.Unknown(), { description: "Its parts, as they were sent." }),
  },
  { $id: "KeptMessage", description: "A message of the user." },
);

export const CompactedResponse = Type.Object(
  {
    id: Type.String({ description: "Id of the compaction." }),
    object: Type.Literal("response.compaction"),
    created_at: Type.Integer({ description: "Unix seconds." }),
    output: Type.Array(Type.Union([KeptMessage, CompactionItem]), {
      description:
        "The input of the next request, before what follows: the user's messages, then one `compaction` item, which stands for all before it and has the last turns verbatim.",
    }),
    usage: ResponseUsage,
  },
  { $id: "CompactedResponse", description: "A compacted conversation." },
);
export type CompactedResponse = Static<typeof CompactedResponse>;

/** The answer to a response whose conversation, of these items, was compacted. */
export function compactedResponse(
  { id, created_at, output, usage }: ResponseResource,
  input: readonly InputItem[],
): CompactedResponse {
  assert(usage !== null, "a response has ended");
  const asked = input.flatMap((item) => (item.type === "message" && item.role === "user" ? [item] : []));
  const kept = asked.map(({ id: sent, content }, index) => ({
    type: "message" as const,
    id: sent ?? inputItemId("message", id, index),
    status: "completed" as const,
    role: "user" as const,
    content: typeof content === "string" ? [{ type: "input_text", text: content }] : content,
  }));
  const items = output.filter((item) => item.type === "compaction");
  return { id, object: "response.compaction", created_at, output: [...kept, ...items], usage };
}

/** A body whose input may be left out: then the earlier response's conversation is compacted. */
export function compactBody(json: Readonly<Record<string, unknown>>): Readonly<Record<string, unknown>> {
  const isChained = isPresent(json["previous_response_id"]) && !isPresent(json["input"]);
  return isChained ? { ...json, input: [NO_ITEM] } : json;
}

/** The conversation of a request, to be compacted whatever its length; nothing is answered. */
export function compactionOf({ run, agent }: Conversation, body: object): Conversation {
  const { messages } = run.prompt;
  const instructions = {
    messages,
    tools: [],
    toolChoice: { type: "none" as const },
    thinking: { enabled: false },
  };
  return {
    run: { ...run, prompt: { type: "chat", ...instructions }, choices: 1 },
    agent: { ...agent, maxToolRounds: 0, edits: wholeCompaction(body) },
  };
}
