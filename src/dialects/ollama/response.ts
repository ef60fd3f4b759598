// The body of a non-streaming answer.

import { AnswerFold, callBlocks, joined, textBlocks } from "../shared/answer-fold.ts";
import { tokenLogprob } from "../shared/logprobs.ts";
import {
  endingOf,
  headOf,
  type OllamaChatResponse,
  type OllamaGenerateResponse,
  type OllamaMeta,
  type OllamaShape,
} from "./answer.ts";
import { callBody } from "./calls.ts";

/** The answer of one run. This dialect has no agent fields. */
export class OllamaFold extends AnswerFold {
  private readonly shape: OllamaShape;

  constructor(shape: OllamaShape) {
    super();
    this.shape = shape;
  }

  /** The body; requires that the run's `finish` was added. */
  body(meta: OllamaMeta): OllamaChatResponse | OllamaGenerateResponse {
    const { answer } = this;
    const reasoning = textBlocks(answer, "reasoning");
    const tokens = textBlocks(answer, "text").flatMap((block) => block.tokens);
    const thinking = reasoning.length === 0 ? {} : { thinking: joined(reasoning) };
    const logprobs = tokens.length === 0 ? {} : { logprobs: tokens.map(tokenLogprob) };
    const ending = endingOf(meta, answer.ending ?? { reason: "stop" }, this.cost());
    const text = joined(textBlocks(answer, "text"));
    if (this.shape === "generate") {
      return { ...headOf(meta), response: text, ...thinking, ...logprobs, ...ending };
    }
    const blocks = callBlocks(answer);
    const calls =
      blocks.length === 0 ? {} : { tool_calls: blocks.map((call) => callBody(call, joined([call]))) };
    const message = { role: "assistant" as const, content: text, ...thinking, ...calls };
    return { ...headOf(meta), message, ...logprobs, ...ending };
  }
}
