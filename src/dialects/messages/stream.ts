// Encodes AnswerEvents as named events. Guarantees: one message_start; sequential content blocks, each started and stopped,
// with only its own deltas between; exactly one end, which is message_stop or error.
//
// Every token of every stream makes a frame, so the constant text of a block's deltas is built once per block and only the
// delta is serialized. Tests check that the result equals the JSON of the plain object.

import type { AnswerEvent } from "../../core/agent.ts";
import { assert, unreachable } from "../../core/assert.ts";
import { defined } from "../../core/defined.ts";
import { type ErrorData, ServiceError } from "../../core/error.ts";
import type { RunEvent } from "../../core/run.ts";
import { agentFrame, cutFilesBody, isAgentEvent } from "../shared/agent-events.ts";
import type { AnswerMeta } from "../shared/answer.ts";
import { eventFrame, type StreamEncoder } from "../shared/frame.ts";
import { progressBody } from "../shared/progress.ts";
import {
  type MessagesStreamEvent,
  type ResponseContentBlock,
  SIGNATURE,
  type Stop,
  stopBody,
  usageBody,
} from "./answer.ts";
import type { AnswerView } from "./request.ts";

type BlockType = ResponseContentBlock["type"];

/** Name and text field of the deltas of each block type. */
const DELTAS: Readonly<Record<BlockType, readonly [string, string]>> = {
  text: ["text_delta", "text"],
  thinking: ["thinking_delta", "thinking"],
  tool_use: ["input_json_delta", "partial_json"],
};

const DELTA_TAIL = "}}\n\n";

/** Keep-alive while the model sends nothing. */
export const PING_FRAME = frame({ type: "ping" });

/** The block that receives deltas. */
interface OpenBlock {
  readonly type: BlockType;
  /** Index of the call, for a tool_use block. */
  readonly call: number | undefined;
  /** Text of a delta event before the delta itself. */
  readonly head: string;
}

/** Assertion message; the engine sends the arguments of a call before it opens another block. */
const MISPLACED_ARGUMENTS = "arguments for a tool call that is not open";

/** The event encoder of one run. */
export class MessagesStream implements StreamEncoder<AnswerEvent> {
  private readonly meta: AnswerMeta;
  private readonly view: AnswerView;
  private block: OpenBlock | undefined;
  private blockCount = 0;
  private sessionId: string | undefined;
  private cutFiles: ReturnType<typeof cutFilesBody> | undefined;
  private stop: Stop | undefined;
  private fingerprint: string | undefined;
  private ended = false;

  constructor(meta: AnswerMeta, view: AnswerView) {
    this.meta = meta;
    this.view = view;
  }

  /** Frames of one event; "" if it has none and for all events after the end. */
  encode(event: AnswerEvent): string {
    if (this.ended) return "";
    if (isAgentEvent(event)) {
      if (event.type !== "session" && event.type !== "input_cut") return this.close() + agentFrame(event);
      if (event.type === "session") this.sessionId = event.sessionId;
      else this.cutFiles = cutFilesBody(event.files);
      return "";
    }
    switch (event.type) {
      case "load_progress":
      case "prompt_progress":
        return frame({ type: "ping", ...progressBody(event, this.meta.model) });
      case "accepted":
        return this.opening(event.promptTokens);
      case "text":
        return this.delta("text", event.text);
      case "reasoning":
        return this.delta("thinking", event.text);
      case "tool_call_start": {
        const { id, name } = event;
        return this.close() + this.start({ type: "tool_use", id, name, input: {} }, event.index);
      }
      case "tool_call_args":
        assert(this.block?.type === "tool_use" && this.block.call === event.index, MISPLACED_ARGUMENTS);
        return this.block.head + JSON.stringify(event.delta) + DELTA_TAIL;
      case "choice_end":
        this.stop = stopBody(event.reason, event.stop);
        this.fingerprint = event.fingerprint;
        return this.close();
      case "finish":
        this.ended = true;
        return this.ending(event);
      case "error":
        this.ended = true;
        return errorFrame(event.error);
      default:
        return unreachable(event);
    }
  }

  private opening(promptTokens: number): string {
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

  /** A text delta in the open block of its type, or in a new one. */
  private delta(type: "text" | "thinking", text: string): string {
    let frames = "";
    if (this.block?.type !== type) {
      frames = this.close() + this.start(emptyBlock(type));
    }
    if (type === "thinking" && this.view.omitsThinking) return frames;
    return frames + this.block?.head + JSON.stringify(text) + DELTA_TAIL;
  }

  private start(block: ResponseContentBlock, call?: number): string {
    const index = this.blockCount++;
    const [name, field] = DELTAS[block.type];
    // Serialized by JSON.stringify and cut before the text.
    const empty = JSON.stringify({ type: "content_block_delta", index, delta: { type: name, [field]: "" } });
    const head = `event: content_block_delta\ndata: ${empty.slice(0, -'""}}'.length)}`;
    this.block = { type: block.type, call, head };
    return frame({ type: "content_block_start", index, content_block: block });
  }

  /** Stops the open block, if any. */
  private close(): string {
    if (this.block === undefined) return "";
    const index = this.blockCount - 1;
    const signed = this.block.type === "thinking";
    this.block = undefined;
    const stop = frame({ type: "content_block_stop", index });
    if (!signed) return stop;
    const delta = { type: "signature_delta", signature: SIGNATURE } as const;
    return frame({ type: "content_block_delta", index, delta }) + stop;
  }

  private ending({ usage }: Extract<RunEvent, { type: "finish" }>): string {
    assert(this.stop !== undefined, "run finished before its choice ended");
    const extensions = defined({
      session_id: this.sessionId,
      cut_files: this.cutFiles,
      fingerprint: this.fingerprint,
    });
    const delta = frame({
      type: "message_delta",
      delta: { ...this.stop, ...extensions },
      usage: usageBody(usage, this.view.countsCached),
    });
    return delta + frame({ type: "message_stop" });
  }
}

function emptyBlock(type: "text" | "thinking"): ResponseContentBlock {
  return type === "text" ? { type, text: "" } : { type, thinking: "", signature: "" };
}

function errorFrame(error: ErrorData): string {
  const { type, message, code } = ServiceError.fromData(error).toBody().error;
  return frame({ type: "error", error: { type, message, code } });
}

function frame(event: MessagesStreamEvent): string {
  return eventFrame(event.type, JSON.stringify(event));
}
