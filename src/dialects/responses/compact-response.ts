// `/v1/responses/compact`: a conversation is compacted and not answered.

import { type Static, Type } from "@sinclair/typebox";
import type { Conversation } from "../../core/agent.ts";
import { assert } from "../../core/assert.ts";
import { CompactionItem, wholeCompaction } from "./compaction.ts";
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

/** The answer to a response whose conversation was compacted. */
export function compactedResponse({ id, created_at, output, usage }: ResponseResource): CompactedResponse {
  assert(usage !== null, "a response has ended");
  const items = output.filter((item) => item.type === "compaction");
  return { id, object: "response.compaction", created_at, output: items, usage };
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
