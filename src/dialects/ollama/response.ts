// The events of an answer folded into one body. A test holds it equal to the fold of the stream.

import type { AnswerEvent } from "../../core/agent.ts";
import { assert, unreachable } from "../../core/assert.ts";
import { ServiceError } from "../../core/error.ts";
import type { FinishReason, TokenLogprob } from "../../core/run.ts";
import { isAgentEvent } from "../shared/agent-events.ts";
import { tokenLogprob } from "../shared/logprobs.ts";
import type { RunCost } from "../shared/usage.ts";
import {
  endingOf,
  headOf,
  type OllamaChatResponse,
  type OllamaGenerateResponse,
  type OllamaMeta,
  type OllamaShape,
} from "./answer.ts";
import { OpenCall } from "./calls.ts";

/** Collects the events of one run; pieces are joined once at the end, so the cost is linear in the answer. */
export class OllamaFold {
  private readonly shape: OllamaShape;
  private readonly text: string[] = [];
  private readonly thinking: string[] = [];
  private readonly calls: OpenCall[] = [];
  private readonly tokens: TokenLogprob[] = [];
  private reason: FinishReason = "stop";
  private spent: RunCost | undefined;

  constructor(shape: OllamaShape) {
    this.shape = shape;
  }

  /** Takes the next event; throws the ServiceError of an `error` event. */
  add(event: AnswerEvent): void {
    if (isAgentEvent(event)) return; // this dialect has no words for what the server does itself
    switch (event.type) {
      case "accepted":
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
        this.reason = event.reason;
        return;
      case "finish":
        this.spent = { usage: event.usage, timings: event.timings };
        return;
      case "error":
        throw ServiceError.fromData(event.error);
      default:
        unreachable(event);
    }
  }

  /** The body; only after the run's `finish`. */
  body(meta: OllamaMeta): OllamaChatResponse | OllamaGenerateResponse {
    assert(this.spent !== undefined, "a body is asked for before the run finished");
    const thinking = this.thinking.length === 0 ? {} : { thinking: this.thinking.join("") };
    const logprobs = this.tokens.length === 0 ? {} : { logprobs: this.tokens.map(tokenLogprob) };
    const ending = endingOf(meta, this.reason, this.spent);
    const text = this.text.join("");
    if (this.shape === "generate") {
      return { ...headOf(meta), response: text, ...thinking, ...logprobs, ...ending };
    }
    const calls = this.calls.length === 0 ? {} : { tool_calls: this.calls.map((call) => call.body()) };
    const message = { role: "assistant" as const, content: text, ...thinking, ...calls };
    return { ...headOf(meta), message, ...logprobs, ...ending };
  }
}
