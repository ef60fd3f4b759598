// Folds AnswerEvents into the body of a non-streaming answer.

import type { AnswerEvent } from "../../core/agent.ts";
import { assert } from "../../core/assert.ts";
import { ServiceError } from "../../core/error.ts";
import { type BuilderOptions, ResponseBuilder } from "./builder.ts";
import type { ResponseResource } from "./resource.ts";

/** Folds the events of one run. */
export class ResponseFold {
  readonly builder: ResponseBuilder;

  constructor(options: Omit<BuilderOptions, "listener">) {
    this.builder = new ResponseBuilder(options);
  }

  /** Adds an event; throws the ServiceError of an `error` event, which becomes the HTTP status. */
  add(event: AnswerEvent): void {
    this.builder.add(event);
    if (event.type === "error") throw ServiceError.fromData(event.error);
  }

  /** The body; requires that the run's `finish` was added. */
  body(): ResponseResource {
    assert(this.builder.isFinal, "body requested before the run finished");
    return this.builder.resource();
  }
}
