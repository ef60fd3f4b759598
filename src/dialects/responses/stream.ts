// What happens to a response as frames: named events with a sequence number each.
//
// A frame is made for every token of every stream, so the constant text of an item's pieces is built once an item and
// only what is new is serialised. Tests check that this equals JSON of the plain object.

import type { AgentEvent, AnswerEvent } from "../../core/agent.ts";
import type { TokenLogprob } from "../../core/run.ts";
import { agentFrame } from "../shared/agent-events.ts";
import { eventFrame, type StreamEncoder } from "../shared/frame.ts";
import { tokenLogprob } from "../shared/logprobs.ts";
import { type BuilderOptions, ResponseBuilder } from "./builder.ts";
import type { GeneratedDraft } from "./drafts.ts";
import type { EventFields, EventType } from "./events.ts";
import type { ResponseListener } from "./emitter.ts";

/** A frame and the sequence number of the last event up to it. */
export interface NumberedFrame {
  readonly sequence: number;
  readonly text: string;
}

const PIECE_EVENTS = {
  message: "response.output_text.delta",
  reasoning: "response.reasoning_text.delta",
  call: "response.function_call_arguments.delta",
} as const satisfies Record<GeneratedDraft["kind"], EventType>;

/** The event encoder of one response. */
export class ResponseStream implements StreamEncoder<AnswerEvent>, ResponseListener {
  readonly builder: ResponseBuilder;
  private sequence = 0;
  private frames: NumberedFrame[] = [];
  /** Text of an item's pieces up to their number. */
  private readonly heads = new WeakMap<GeneratedDraft, string>();

  constructor(options: Omit<BuilderOptions, "listener">) {
    this.builder = new ResponseBuilder({ ...options, listener: this });
  }

  /** Frames for one event; "" when it has none and for anything after the end. */
  encode(event: AnswerEvent): string {
    this.builder.add(event);
    return this.take()
      .map(({ text }) => text)
      .join("");
  }

  /** Frames of what the builder was told since the last call. */
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

  /** The session is told with nothing. */
  agent(event: AgentEvent): void {
    if (event.type !== "session") this.push(agentFrame(event));
  }

  private push(text: string): void {
    this.frames.push({ sequence: this.sequence - 1, text });
  }

  private makeHead(draft: GeneratedDraft): string {
    const type = PIECE_EVENTS[draft.kind];
    const place = draft.kind === "call" ? { call_id: draft.callId } : { content_index: 0 };
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
