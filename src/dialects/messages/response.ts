// The body of a non-streaming answer.

import { assert, unreachable } from "../../core/assert.ts";
import { defined } from "../../core/defined.ts";
import type { AnswerMeta } from "../shared/answer.ts";
import { type AnswerBlock, AnswerFold, joined } from "../shared/answer-fold.ts";
import { argumentsObject } from "../shared/call-arguments.ts";
import {
  type MessagesResponse,
  type ResponseContentBlock,
  SIGNATURE,
  stopBody,
  usageBody,
} from "./answer.ts";
import type { AnswerView } from "./request.ts";

/** The answer of one run. */
export class MessagesFold extends AnswerFold {
  private readonly view: AnswerView;

  constructor(view: AnswerView) {
    super();
    this.view = view;
  }

  /** The body; requires that the run's `finish` was added. */
  body(meta: AnswerMeta): MessagesResponse {
    const { usage } = this.cost();
    const { blocks, ending } = this.answer;
    assert(ending !== undefined, "run finished before its choice ended");
    const session = this.agent.session();
    const files = this.agent.files();
    return {
      id: meta.id,
      type: "message",
      role: "assistant",
      model: meta.model,
      content: blocks.map((block) => this.content(block)),
      ...stopBody(ending.reason, ending.stop),
      usage: usageBody(usage, this.view.countsCached),
      ...defined({ session_id: session, fingerprint: ending.fingerprint }),
      ...(files.length === 0 ? {} : { files }),
      ...this.agent.cut(),
    };
  }

  private content(block: AnswerBlock): ResponseContentBlock {
    const text = joined([block]);
    switch (block.type) {
      case "text":
        return { type: "text", text };
      case "reasoning":
        return { type: "thinking", thinking: this.view.omitsThinking ? "" : text, signature: SIGNATURE };
      case "call":
        return { type: "tool_use", id: block.id, name: block.name, input: argumentsObject(text) };
      default:
        return unreachable(block);
    }
  }
}
