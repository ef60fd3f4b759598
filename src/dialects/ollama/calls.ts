// A tool call of an answer.

import { type CallBlock, joined } from "../shared/answer-reducer.ts";
import { argumentsObject } from "../shared/call-arguments.ts";
import type { OllamaAnswerCall } from "./answer.ts";

/** A call, with its arguments as an object. */
export function callBody(call: CallBlock): OllamaAnswerCall {
  const { id, index, name } = call;
  return { id, function: { index, name, arguments: argumentsObject(joined([call])) } };
}
