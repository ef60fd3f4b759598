// Folds AnswerEvents into the body of a non-streaming answer. A test checks that it equals the fold of the stream.

import type { AnswerEvent } from "../../core/agent.ts";
import { assert, unreachable } from "../../core/assert.ts";
import { ServiceError } from "../../core/error.ts";
import type { TokenLogprob } from "../../core/run.ts";
import { isAgentEvent } from "../shared/agent-events.ts";
import { tokenLogprob } from "../shared/logprobs.ts";
import type { RunCost } from "../shared/usage.ts";
import {
  type EndedChoice,
  endingOf,
  headOf,
  type OllamaChatResponse,
  type OllamaGenerateResponse,
  type OllamaMeta,
  type OllamaShape,
} from "./answer.ts";
import { OpenCall } from "./calls.ts";

/** Folds the events of one run. Text deltas are joined once at the end, so the cost is linear in the answer. */
export class OllamaFold {
  private readonly shape: OllamaShape;
  private readonly text: string[] = [];
  private readonly thinking: string[] = [];
  private readonly calls: OpenCall[] = [];
  private readonly tokens: TokenLogprob[] = [];
  private end: EndedChoice = { reason: "stop" };
  private runCost: RunCost | undefined;

  constructor(shape: OllamaShape) {
    this.shape = shape;
  }

  /** Adds an event; throws the ServiceError of an `error` event. */
  add(event: AnswerEvent): void {
    if (isAgentEvent(event)) return; // this dialect has no agent fields
    switch (event.type) {
      case "accepted":
      case "load_progress":
      case "prompt_progress":
        return;
      case "text":
        this.text.push(event.text);
        for (const token of event.logprobs ?? []) this.tokens.push(token);
        return;
      case "reasoning":
        this.thinking.push(event.text);
        return;
      case "tool_call_start":
        this.calls.push(new OpenCall(event));
        return;
      case "tool_call_args":
        this.calls.at(-1)?.add(event);
        return;
      case "choice_end":
        this.end = event;
        return;
      case "finish":
        this.runCost = { usage: event.usage, timings: event.timings };
        return;
      case "error":
        throw ServiceError.fromData(event.error);
      default:
        unreachable(event);
    }
  }

  /** The body; requires that the run's `finish` was added. */
  body(meta: OllamaMeta): OllamaChatResponse | OllamaGenerateResponse {
    assert(this.runCost !== undefined, "body requested before the run finished");
    const thinking = this.thinking.length === 0 ? {} : { thinking: this.thinking.join("") };
    const logprobs = this.tokens.length === 0 ? {} : { logprobs: this.tokens.map(tokenLogprob) };
    const ending = endingOf(meta, this.end, this.runCost);
    const text = this.text.join("");
    if (this.shape === "generate") {
      return { ...headOf(meta), response: text, ...thinking, ...logprobs, ...ending };
    }
    const calls = this.calls.length === 0 ? {} : { tool_calls: this.calls.map((call) => call.body()) };
    const message = { role: "assistant" as const, content: text, ...thinking, ...calls };
    return { ...headOf(meta), message, ...logprobs, ...ending };
  }
}
