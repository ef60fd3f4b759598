// Shows the changes of an answer as named events. Guarantees: one message_start; sequential content blocks, each started and
// stopped, with only its own deltas between; exactly one end, which is message_stop or error.
//
// Every token of every stream makes a frame, so the constant text of a block's deltas is built once per block and only the
// delta is serialized. Tests check that the result equals the JSON of the plain object.

import type { AgentEvent } from "../../core/agent.ts";
import { assert } from "../../core/assert.ts";
import { defined } from "../../core/defined.ts";
import { type ErrorData, ServiceError } from "../../core/error.ts";
import type { RunEvent } from "../../core/run.ts";
import { agentFrame } from "../shared/agent-events.ts";
import type { AnswerMeta } from "../shared/answer.ts";
import { type AnswerBlock, type AnswerChanges, AnswerReducer } from "../shared/answer-reducer.ts";
import { eventFrame } from "../shared/frame.ts";
import { isSearchComplete } from "../shared/tool-search.ts";
import { type ProgressEvent, progressBody } from "../shared/progress.ts";
import {
  type MessagesStreamEvent,
  type ResponseContentBlock,
  deedBlocks,
  SIGNATURE,
  stopBody,
  usageBody,
} from "./answer.ts";
import type { AnswerView } from "./request.ts";

/** Name and text field of the deltas of each type of block. */
const DELTAS: Readonly<Record<AnswerBlock["type"], readonly [string, string]>> = {
  text: ["text_delta", "text"],
  reasoning: ["thinking_delta", "thinking"],
  call: ["input_json_delta", "partial_json"],
};

const DELTA_TAIL = "}}\n\n";

/** Keep-alive while the model sends nothing. */
export const PING_FRAME = frame({ type: "ping" });

/** The stream of one run. */
export function messagesStream(meta: AnswerMeta, view: AnswerView): AnswerReducer {
  return new AnswerReducer({ changes: new MessagesEvents(meta, view) });
}

class MessagesEvents implements AnswerChanges {
  private readonly meta: AnswerMeta;
  private readonly view: AnswerView;
  /** Text of the open block's delta events before the delta itself. */
  private head = "";
  /** Blocks of the model, and those of the server's own before the next of them. */
  private blocks = 0;
  private inserted = 0;

  constructor(meta: AnswerMeta, view: AnswerView) {
    this.meta = meta;
    this.view = view;
  }

  progress(event: ProgressEvent): string {
    return frame({ type: "ping", ...progressBody(event, this.meta.model) });
  }

  accepted({ promptTokens }: Extract<RunEvent, { type: "accepted" }>): string {
    const usage = { promptTokens, cachedTokens: 0, completionTokens: 0, reasoningTokens: 0 };
    return frame({
      type: "message_start",
      message: {
        id: this.meta.id,
        type: "message",
        role: "assistant",
        model: this.meta.model,
        content: [],
        stop_reason: null,
        stop_sequence: null,
        usage: usageBody(usage, this.view.countsCached),
      },
    });
  }

  opened(block: AnswerBlock): string {
    const index = this.indexOf(block);
    const [name, field] = DELTAS[block.type];
    // Serialized by JSON.stringify and cut before the text.
    const empty = JSON.stringify({ type: "content_block_delta", index, delta: { type: name, [field]: "" } });
    this.head = `event: content_block_delta\ndata: ${empty.slice(0, -'""}}'.length)}`;
    return frame({ type: "content_block_start", index, content_block: emptyBlock(block) });
  }

  delta({ type }: AnswerBlock, text: string): string {
    if (type === "reasoning" && this.view.omitsThinking) return "";
    return this.head + JSON.stringify(text) + DELTA_TAIL;
  }

  closed(block: AnswerBlock): string {
    const { type } = block;
    const index = this.indexOf(block);
    const stop = frame({ type: "content_block_stop", index });
    if (type !== "reasoning") return stop;
    const delta = { type: "signature_delta", signature: SIGNATURE } as const;
    return frame({ type: "content_block_delta", index, delta }) + stop;
  }

  agent(event: AgentEvent): string {
    const isDeed = event.type === "context_edited" || isSearchComplete(event);
    return isDeed ? this.whole(deedBlocks(event)) : agentFrame(event);
  }

  private indexOf({ position }: AnswerBlock): number {
    if (position >= this.blocks) this.blocks = position + 1;
    return position + this.inserted;
  }

  /** Blocks of the server's own, after those of the model so far. All of these are closed. */
  private whole(blocks: readonly ResponseContentBlock[]): string {
    const first = this.blocks + this.inserted;
    this.inserted += blocks.length;
    return blocks
      .map(
        (block, at) =>
          frame({ type: "content_block_start", index: first + at, content_block: emptyCompaction(block) }) +
          compactionDelta(block, first + at) +
          frame({ type: "content_block_stop", index: first + at }),
      )
      .join("");
  }

  finished({ usage }: Extract<RunEvent, { type: "finish" }>, { answer, agent }: AnswerReducer): string {
    const { ending } = answer;
    assert(ending !== undefined, "run finished before its choice ended");
    const { context_management, ...cut } = agent.cut();
    const extensions = {
      ...defined({ session_id: agent.session() }),
      ...cut,
      ...defined({ fingerprint: ending.fingerprint }),
    };
    const delta = frame({
      type: "message_delta",
      delta: { ...stopBody(ending), ...extensions },
      ...defined({ context_management }),
      usage: usageBody(usage, this.view.countsCached, agent.edits),
    });
    return delta + frame({ type: "message_stop" });
  }

  failed(error: ErrorData): string {
    const { type, message, code } = ServiceError.fromData(error).toBody().error;
    return frame({ type: "error", error: { type, message, code } });
  }
}

/** The official client takes the texts of a compaction from its delta. */
function compactionDelta(block: ResponseContentBlock, index: number): string {
  if (block.type !== "compaction") return "";
  return frame({ type: "content_block_delta", index, delta: { ...block, type: "compaction_delta" } });
}

function emptyCompaction(block: ResponseContentBlock): ResponseContentBlock {
  return block.type === "compaction" ? { ...block, content: "", encrypted_content: "" } : block;
}

function emptyBlock(block: AnswerBlock): ResponseContentBlock {
  switch (block.type) {
    case "text":
      return { type: "text", text: "" };
    case "reasoning":
      return { type: "thinking", thinking: "", signature: "" };
    case "call":
      return { type: "tool_use", id: block.id, name: block.name, input: {} };
  }
}

function frame(event: MessagesStreamEvent): string {
  return eventFrame(event.type, JSON.stringify(event));
}
