// The body of a non-streaming answer.

import { assert, unreachable } from "../../core/assert.ts";
import { defined } from "../../core/defined.ts";
import type { AnswerMeta } from "../shared/answer.ts";
import { type AnswerBlock, type AnswerReducer, joined } from "../shared/answer-reducer.ts";
import { argumentsObject } from "../shared/call-arguments.ts";
import {
  type MessagesResponse,
  type ResponseContentBlock,
  deedBlocks,
  SIGNATURE,
  stopBody,
  usageBody,
} from "./answer.ts";
import type { AnswerView } from "./request.ts";

/** The body; requires that the run's `finish` was added. */
export function messagesBody(
  { cost, answer, agent, deeds }: AnswerReducer,
  meta: AnswerMeta,
  view: AnswerView,
): MessagesResponse {
  const { blocks, ending } = answer;
  assert(ending !== undefined, "run finished before its choice ended");
  const files = agent.files();
  const done = (at: number): readonly ResponseContentBlock[] =>
    deeds.flatMap(({ after, event }) => (after === at ? deedBlocks(event) : []));
  return {
    id: meta.id,
    type: "message",
    role: "assistant",
    model: meta.model,
    content: [
      ...blocks.flatMap((block, at) => [...done(at), contentOf(block, view)]),
      ...done(blocks.length),
    ],
    ...stopBody(ending),
    usage: usageBody(cost.usage, view.countsCached, agent.edits),
    ...defined({ session_id: agent.session(), fingerprint: ending.fingerprint }),
    ...(files.length === 0 ? {} : { files }),
    ...agent.cut(),
  };
}

function contentOf(block: AnswerBlock, { omitsThinking }: AnswerView): ResponseContentBlock {
  const text = joined([block]);
  switch (block.type) {
    case "text":
      return { type: "text", text };
    case "reasoning":
      return { type: "thinking", thinking: omitsThinking ? "" : text, signature: SIGNATURE };
    case "call":
      return { type: "tool_use", id: block.id, name: block.name, input: argumentsObject(text) };
    default:
      return unreachable(block);
  }
}
