// AnswerEvents folded into one body: the non-streaming answer.

import type { AnswerEvent } from "../../core/agent.ts";
import { assert } from "../../core/assert.ts";
import { ServiceError } from "../../core/error.ts";
import { type BuilderOptions, ResponseBuilder } from "./builder.ts";
import type { ResponseResource } from "./resource.ts";

/** Collects the events of one run. */
export class ResponseFold {
  readonly builder: ResponseBuilder;

  constructor(options: Omit<BuilderOptions, "listener">) {
    this.builder = new ResponseBuilder(options);
  }

  /** Takes the next event; throws the ServiceError of an `error` event, which has a status to travel in. */
  add(event: AnswerEvent): void {
    this.builder.add(event);
    if (event.type === "error") throw ServiceError.fromData(event.error);
  }

  /** The body; only after the run's `finish`. */
  body(): ResponseResource {
    assert(this.builder.isFinal, "a body is asked for before the run finished");
    return this.builder.resource();
  }
}
