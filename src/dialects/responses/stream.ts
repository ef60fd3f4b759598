// Encodes the updates of a response as named events with sequence numbers.
//
// Every token of every stream makes a frame, so the constant text of an item's deltas is built once per item and only the
// delta is serialized. Tests check that the result equals the JSON of the plain object.

import type { AgentEvent, AnswerEvent } from "../../core/agent.ts";
import type { TokenLogprob } from "../../core/run.ts";
import { agentFrame } from "../shared/agent-events.ts";
import { progressBody } from "../shared/progress.ts";
import { eventFrame, type FrameEncoder } from "../shared/frame.ts";
import { tokenLogprob } from "../shared/logprobs.ts";
import { type BuilderOptions, ResponseBuilder } from "./builder.ts";
import type { GeneratedDraft } from "./drafts.ts";
import type { EventFields, EventType } from "./events.ts";
import type { ResponseListener } from "./emitter.ts";

/** A frame, with the sequence number of its event or, for an agent event, of the last event before it. */
export interface NumberedFrame {
  readonly sequence: number;
  readonly text: string;
}

const DELTA_EVENTS = {
  message: "response.output_text.delta",
  reasoning: "response.reasoning_text.delta",
  call: "response.function_call_arguments.delta",
  custom: "response.custom_tool_call_input.delta",
} as const satisfies Record<GeneratedDraft["kind"], EventType>;

/** The event encoder of one response. */
export class ResponseStream implements FrameEncoder<AnswerEvent>, ResponseListener {
  readonly builder: ResponseBuilder;
  private readonly model: string;
  private sequence = 0;
  private frames: NumberedFrame[] = [];
  /** Text of an item's delta events before the sequence number. */
  private readonly heads = new WeakMap<GeneratedDraft, string>();

  constructor(options: Omit<BuilderOptions, "listener">) {
    this.model = options.head.model;
    this.builder = new ResponseBuilder({ ...options, listener: this });
  }

  /** Frames of one event; "" if it has none and for all events after the end. */
  add(event: AnswerEvent): string {
    // Clients expect response.created first, so what comes before it is a comment.
    if (event.type === "load_progress") return `: ${JSON.stringify(progressBody(event, this.model))}\n\n`;
    this.builder.add(event);
    return this.take()
      .map(({ text }) => text)
      .join("");
  }

  /** Removes and returns the frames since the last call. */
  take(): readonly NumberedFrame[] {
    const { frames } = this;
    this.frames = [];
    return frames;
  }

  event<T extends EventType>(type: T, fields: () => EventFields<T>): void {
    this.push(eventFrame(type, JSON.stringify({ type, sequence_number: this.sequence++, ...fields() })));
  }

  delta(draft: GeneratedDraft, text: string, logprobs: readonly TokenLogprob[] | undefined): void {
    const head = this.heads.get(draft) ?? this.makeHead(draft);
    this.push(`${head}${this.sequence++},"delta":${JSON.stringify(text)}${tail(draft, logprobs)}`);
  }

  /** Frame of an agent event. The session has no event in this dialect. */
  agent(event: AgentEvent): void {
    if (event.type !== "session") this.push(agentFrame(event));
  }

  private push(text: string): void {
    this.frames.push({ sequence: this.sequence - 1, text });
  }

  private makeHead(draft: GeneratedDraft): string {
    const type = DELTA_EVENTS[draft.kind];
    const place = "callId" in draft ? { call_id: draft.callId } : { content_index: 0 };
    const fixed = JSON.stringify({ type, output_index: draft.index, item_id: draft.id, ...place });
    const head = `event: ${type}\ndata: ${fixed.slice(0, -"}".length)},"sequence_number":`;
    this.heads.set(draft, head);
    return head;
  }
}

function tail(draft: GeneratedDraft, logprobs: readonly TokenLogprob[] | undefined): string {
  if (draft.kind !== "message") return "}\n\n";
  return `,"logprobs":${JSON.stringify((logprobs ?? []).map(tokenLogprob))}}\n\n`;
}
