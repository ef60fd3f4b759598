// Shows the changes of an answer as infill chunks. Guarantees: exactly one end, which has `stop: true` or is an error.

import { type ErrorData, ServiceError } from "../../core/error.ts";
import type { AnswerReducer } from "../shared/answer-reducer.ts";
import { dataFrame } from "../shared/frame.ts";
import type { InfillLayout } from "./request.ts";
import { infillAnswer, infillBody } from "./response.ts";

/** The stream of one run. Its last frame is the body without its text. */
export function infillStream(model: string, layout: InfillLayout): AnswerReducer {
  return infillAnswer(layout, {
    keeps: () => true, // the last frame says whether there was a line break
    delta: (_, text) =>
      text === "" ? "" : `data: {"index":0,"content":${JSON.stringify(text)},"stop":false}\n\n`,
    finished: (_, answer) => dataFrame(JSON.stringify(infillBody(answer, model, layout, ""))),
    failed: (error: ErrorData) => dataFrame(JSON.stringify(ServiceError.fromData(error).toBody())),
  });
}
