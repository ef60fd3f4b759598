// Folds AnswerEvents into the body of a non-streaming answer. A test checks that it equals the fold of the stream.

import type { AnswerEvent } from "../../core/agent.ts";
import { assert, unreachable } from "../../core/assert.ts";
import { defined } from "../../core/defined.ts";
import { ServiceError } from "../../core/error.ts";
import type { RunEvent } from "../../core/run.ts";
import { AgentFold, isAgentEvent } from "../shared/agent-events.ts";
import type { AnswerMeta } from "../shared/answer.ts";
import { isRecord } from "../shared/check.ts";
import {
  type MessagesResponse,
  type MessagesUsage,
  type ResponseContentBlock,
  SIGNATURE,
  type Stop,
  stopBody,
  usageBody,
} from "./answer.ts";
import type { AnswerView } from "./request.ts";

interface TextDraft {
  readonly type: "text" | "thinking";
  readonly pieces: string[];
}

interface CallDraft {
  readonly type: "tool_use";
  readonly call: number;
  readonly id: string;
  readonly name: string;
  readonly pieces: string[];
}

/** Folds the events of one run. Text deltas are joined once at the end, so the cost is linear in the answer. */
export class MessagesFold {
  private readonly view: AnswerView;
  private readonly blocks: (TextDraft | CallDraft)[] = [];
  /** Whether the last block accepts more deltas. */
  private open = false;
  private readonly agent = new AgentFold();
  private stop: Stop | undefined;
  private fingerprint: string | undefined;
  private usage: MessagesUsage | undefined;

  constructor(view: AnswerView) {
    this.view = view;
  }

  /** Adds an event; throws the ServiceError of an `error` event. */
  add(event: AnswerEvent): void {
    if (isAgentEvent(event)) {
      if (event.type !== "session" && event.type !== "input_cut") this.open = false;
      return this.agent.add(event);
    }
    switch (event.type) {
      case "accepted":
      case "load_progress":
      case "prompt_progress":
        return;
      case "text":
        this.block("text").pieces.push(event.text);
        return;
      case "reasoning":
        this.block("thinking").pieces.push(event.text);
        return;
      case "tool_call_start":
        this.blocks.push({
          type: "tool_use",
          call: event.index,
          id: event.id,
          name: event.name,
          pieces: [],
        });
        this.open = true;
        return;
      case "tool_call_args":
        this.call(event).pieces.push(event.delta);
        return;
      case "choice_end":
        this.stop = stopBody(event.reason, event.stop);
        this.fingerprint = event.fingerprint;
        return;
      case "finish":
        this.usage = usageBody(event.usage, this.view.countsCached);
        return;
      case "error":
        throw ServiceError.fromData(event.error);
      default:
        unreachable(event);
    }
  }

  /** The body; requires that the run's `finish` was added. */
  body(meta: AnswerMeta): MessagesResponse {
    assert(this.usage !== undefined && this.stop !== undefined, "body requested before the run finished");
    const session = this.agent.session();
    const files = this.agent.files();
    return {
      id: meta.id,
      type: "message",
      role: "assistant",
      model: meta.model,
      content: this.blocks.map((draft) => this.content(draft)),
      ...this.stop,
      usage: this.usage,
      ...defined({ session_id: session, fingerprint: this.fingerprint }),
      ...(files.length === 0 ? {} : { files }),
      ...this.agent.cut(),
    };
  }

  /** The block for text of this type: the last one if it is open and of the type, otherwise a new one. */
  private block(type: TextDraft["type"]): TextDraft {
    const last = this.blocks.at(-1);
    if (this.open && last !== undefined && last.type === type) return last;
    const draft: TextDraft = { type, pieces: [] };
    this.blocks.push(draft);
    this.open = true;
    return draft;
  }

  private call({ index }: Extract<RunEvent, { type: "tool_call_args" }>): CallDraft {
    const last = this.blocks.at(-1);
    assert(this.open && last?.type === "tool_use" && last.call === index, MISPLACED_ARGUMENTS);
    return last;
  }

  private content(draft: TextDraft | CallDraft): ResponseContentBlock {
    const text = draft.pieces.join("");
    switch (draft.type) {
      case "text":
        return { type: "text", text };
      case "thinking":
        return { type: "thinking", thinking: this.view.omitsThinking ? "" : text, signature: SIGNATURE };
      case "tool_use":
        return { type: "tool_use", id: draft.id, name: draft.name, input: inputOf(text) };
      default:
        return unreachable(draft);
    }
  }
}

/** Assertion message; the engine sends the arguments of a call before it opens another block. */
export const MISPLACED_ARGUMENTS = "arguments for a tool call that is not open";

/** Arguments as an object; empty if the JSON text is truncated, which `stop_reason` reports. */
function inputOf(text: string): Readonly<Record<string, unknown>> {
  try {
    const input: unknown = JSON.parse(text);
    return isRecord(input) ? input : {};
  } catch {
    return {};
  }
}
