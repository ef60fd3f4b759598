// Encodes RunEvents as infill chunks. Guarantees: exactly one end, which has `stop: true` or is an error.

import { ServiceError } from "../../core/error.ts";
import type { RunEvent } from "../../core/run.ts";
import { dataFrame, type StreamEncoder } from "../shared/frame.ts";
import type { InfillLayout } from "./request.ts";
import { InfillFold } from "./response.ts";

export class InfillStream implements StreamEncoder {
  private readonly model: string;
  private readonly fold: InfillFold;
  private ended = false;

  constructor(model: string, layout: InfillLayout) {
    this.model = model;
    this.fold = new InfillFold(layout);
  }

  /** Frames of one event; "" if it has none and for all events after the end. */
  encode(event: RunEvent): string {
    if (this.ended) return "";
    this.ended = event.type === "finish" || event.type === "error";
    if (event.type === "error") {
      return dataFrame(JSON.stringify(ServiceError.fromData(event.error).toBody()));
    }
    const text = this.fold.add(event);
    if (event.type === "finish") return dataFrame(JSON.stringify(this.fold.body(this.model, "")));
    return text === "" ? "" : dataFrame(`{"index":0,"content":${JSON.stringify(text)},"stop":false}`);
  }
}
