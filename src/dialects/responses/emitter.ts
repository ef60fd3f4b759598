// What a builder tells: wire events made of drafts. Bodies are made only if somebody listens to them.

import type { AgentEvent } from "../../core/agent.ts";
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
} from "./drafts.ts";
import type { EventFields, EventType } from "./events.ts";
import type { FileCitation } from "./output-items.ts";
import { errorBody, type ResponseResource } from "./resource.ts";

/** Hears what happens to a response, as the stream tells it. */
export interface ResponseListener {
  /** Anything but a piece of text. `fields` makes the body of the event, for those who want it. */
  event<T extends EventType>(type: T, fields: () => EventFields<T>): void;
  /** A piece of text. Called for every token, always with the same draft for one item. */
  delta(draft: GeneratedDraft, text: string, logprobs: readonly TokenLogprob[] | undefined): void;
  /** What the server does by itself. */
  agent(event: AgentEvent): void;
}

/** Types of the events that carry the whole resource. */
type Lifecycle = {
  [T in EventType]: EventFields<T> extends { readonly response: ResponseResource } ? T : never;
}[EventType];

/** Tells a listener, where there is one. */
export class ResponseEmitter {
  private readonly listener: ResponseListener | undefined;

  constructor(listener: ResponseListener | undefined) {
    this.listener = listener;
  }

  lifecycle(type: Lifecycle, resource: () => ResponseResource): void {
    this.listener?.event(type, () => ({ response: resource() }));
  }

  delta(draft: GeneratedDraft, text: string, logprobs?: readonly TokenLogprob[]): void {
    this.listener?.delta(draft, text, logprobs);
  }

  agent(event: AgentEvent): void {
    this.listener?.agent(event);
  }

  /** An item begins; its content is announced by parts. */
  added(draft: ItemDraft): void {
    const fields = () => ({ output_index: draft.index, item: itemOf(draft, false) });
    this.listener?.event("response.output_item.added", fields);
    if (draft.kind === "message" || draft.kind === "reasoning") this.part("added", draft, "");
  }

  /** All text of an item is there. */
  textDone(draft: GeneratedDraft, text: string): void {
    const place = { output_index: draft.index, item_id: draft.id };
    switch (draft.kind) {
      case "message":
        return this.listener?.event("response.output_text.done", () => {
          return { ...place, content_index: 0, text, logprobs: draft.tokens.map(tokenLogprob) };
        });
      case "reasoning":
        return this.listener?.event("response.reasoning_text.done", () => {
          return { ...place, content_index: 0, text };
        });
      case "call":
        return this.listener?.event("response.function_call_arguments.done", () => {
          return { ...place, call_id: draft.callId, name: draft.name, arguments: text };
        });
    }
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

  /** Nothing more will happen to an item. */
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
