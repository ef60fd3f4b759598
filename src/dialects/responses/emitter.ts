// Converts the updates of a ResponseBuilder to wire events. Event bodies are built only if there is a listener.

import type { AgentEvent } from "../../core/agent.ts";
import { defined } from "../../core/defined.ts";
import type { ErrorData } from "../../core/error.ts";
import type { TokenLogprob } from "../../core/run.ts";
import { tokenLogprob } from "../shared/logprobs.ts";
import {
  type ItemDraft,
  itemOf,
  type MessageDraft,
  partOf,
  type ReasoningDraft,
  type GeneratedDraft,
  summaryOf,
} from "./drafts.ts";
import type { EventFields, EventType } from "./events.ts";
import type { FileCitation } from "./output-items.ts";
import { errorBody, type ResponseResource } from "./resource.ts";

/** Receives the updates of a response in stream order. */
export interface ResponseListener {
  /** Any event except a text delta. `fields` builds the body of the event. */
  event<T extends EventType>(type: T, fields: () => EventFields<T>): void;
  /** A text delta. Called for every token, with the same draft object for all deltas of an item. */
  delta(draft: GeneratedDraft, text: string, logprobs: readonly TokenLogprob[] | undefined): void;
  /** An agent event. */
  agent(event: AgentEvent): void;
}

/** Types of the events with the whole resource. */
type Lifecycle = {
  [T in EventType]: EventFields<T> extends { readonly response: ResponseResource } ? T : never;
}[EventType];

/** Sends events to a listener, if any. */
export class ResponseEmitter {
  private readonly listener: ResponseListener | undefined;

  constructor(listener: ResponseListener | undefined) {
    this.listener = listener;
  }

  lifecycle(type: Lifecycle, resource: () => ResponseResource): void {
    this.listener?.event(type, () => ({ response: resource() }));
  }

  /** The prompt is computed: one more event of this type, which clients take as the first one. */
  progress(
    prompt_progress: EventFields<"response.in_progress">["prompt_progress"],
    resource: () => ResponseResource,
  ): void {
    this.listener?.event("response.in_progress", () => ({
      response: resource(),
      ...defined({ prompt_progress }),
    }));
  }

  delta(draft: GeneratedDraft, text: string, logprobs?: readonly TokenLogprob[]): void {
    this.listener?.delta(draft, text, logprobs);
    if (draft.kind !== "reasoning" || draft.summarized !== true) return;
    const place = { output_index: draft.index, item_id: draft.id, summary_index: 0 };
    this.listener?.event("response.reasoning_summary_text.delta", () => ({ ...place, delta: text }));
  }

  agent(event: AgentEvent): void {
    this.listener?.agent(event);
  }

  /** An item was added; its content part has its own event. */
  added(draft: ItemDraft): void {
    const fields = () => ({ output_index: draft.index, item: itemOf(draft, false) });
    this.listener?.event("response.output_item.added", fields);
    if (draft.kind === "message" || draft.kind === "reasoning") this.part("added", draft, "");
    if (draft.kind === "reasoning") this.summary("added", draft, "");
  }

  /** The text of an item is complete. */
  textDone(draft: GeneratedDraft, text: string): void {
    const place = { output_index: draft.index, item_id: draft.id };
    switch (draft.kind) {
      case "message":
        return this.listener?.event("response.output_text.done", () => {
          return { ...place, content_index: 0, text, logprobs: draft.tokens.map(tokenLogprob) };
        });
      case "reasoning":
        this.listener?.event("response.reasoning_text.done", () => ({ ...place, content_index: 0, text }));
        return this.summary("done", draft, text);
      case "call":
        return this.listener?.event("response.function_call_arguments.done", () => {
          return { ...place, call_id: draft.callId, name: draft.name, arguments: text };
        });
      case "custom":
        return this.listener?.event("response.custom_tool_call_input.done", () => {
          return { ...place, call_id: draft.callId, input: text };
        });
    }
  }

  /** The summary of reasoning, where there is one: it begins, or is complete. */
  private summary(end: "added" | "done", draft: ReasoningDraft, text: string): void {
    if (draft.summarized !== true) return;
    const place = { output_index: draft.index, item_id: draft.id, summary_index: 0 };
    if (end === "done")
      this.listener?.event("response.reasoning_summary_text.done", () => ({ ...place, text }));
    this.listener?.event(`response.reasoning_summary_part.${end}`, () => ({
      ...place,
      part: summaryOf(text),
    }));
  }

  annotated(draft: MessageDraft, annotationIndex: number, annotation: FileCitation): void {
    this.listener?.event("response.output_text.annotation.added", () => ({
      output_index: draft.index,
      item_id: draft.id,
      content_index: 0,
      annotation_index: annotationIndex,
      annotation,
    }));
  }

  part(end: "added" | "done", draft: MessageDraft | ReasoningDraft, text: string): void {
    this.listener?.event(`response.content_part.${end}`, () => {
      return { output_index: draft.index, item_id: draft.id, content_index: 0, part: partOf(draft, text) };
    });
  }

  /** An item is complete. */
  done(draft: ItemDraft): void {
    const fields = () => ({ output_index: draft.index, item: itemOf(draft) });
    this.listener?.event("response.output_item.done", fields);
  }

  failed(error: ErrorData): void {
    this.listener?.event("error", () => {
      const body = { ...errorBody(error), param: error.param ?? null };
      return { code: body.code, message: body.message, param: body.param, error: body };
    });
  }
}
