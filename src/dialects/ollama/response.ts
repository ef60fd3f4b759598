// The body of a non-streaming answer. This dialect has no fields for tools of the server.

import { type AnswerReducer, callBlocks, joined, textBlocks } from "../shared/answer-reducer.ts";
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

/** The body; requires that the run's `finish` was added. */
export function ollamaBody(
  reduced: AnswerReducer,
  meta: OllamaMeta,
  shape: OllamaShape,
): OllamaChatResponse | OllamaGenerateResponse {
  const { answer } = reduced;
  const reasoning = textBlocks(answer, "reasoning");
  const tokens = textBlocks(answer, "text").flatMap((block) => block.tokens);
  const thinking = reasoning.length === 0 ? {} : { thinking: joined(reasoning) };
  const logprobs = tokens.length === 0 ? {} : { logprobs: tokens.map(tokenLogprob) };
  const ending = endingOf(meta, reduced);
  const text = joined(textBlocks(answer, "text"));
  if (shape === "generate") return { ...headOf(meta), response: text, ...thinking, ...logprobs, ...ending };
  const calls = callBlocks(answer);
  const called = calls.length === 0 ? {} : { tool_calls: calls.map(callBody) };
  const message = { role: "assistant" as const, content: text, ...thinking, ...called };
  return { ...headOf(meta), message, ...logprobs, ...ending };
}
