// Folds RunEvents into the body of a non-streaming answer. A test checks that it equals the fold of the stream.

import { assert, unreachable } from "../../core/assert.ts";
import { defined } from "../../core/defined.ts";
import { ServiceError } from "../../core/error.ts";
import type { AnswerEvent } from "../../core/agent.ts";
import type { FinishReason, RunEvent, TokenLogprob } from "../../core/run.ts";
import { CustomInput } from "../shared/custom-tools.ts";
import { AgentFold, isAgentEvent } from "../shared/agent-events.ts";
import { answerHead, type AnswerMeta } from "../shared/answer.ts";
import { type CompletionUsageResponse, usageBody } from "../shared/usage.ts";
import { choiceLogprobs } from "./logprobs.ts";
import type {
  ChatCompletionResponse,
  ChatCompletionResponseChoice,
  ChatCompletionResponseMessage,
} from "./schema.ts";

interface CallDraft {
  readonly id: string;
  readonly name: string;
  readonly args: string[];
}

interface ChoiceDraft {
  readonly text: string[];
  readonly reasoning: string[];
  readonly calls: CallDraft[];
  readonly tokens: TokenLogprob[];
  reason: FinishReason | undefined;
  stop: string | undefined;
  fingerprint: string | undefined;
}

export interface ChatFoldOptions {
  readonly choices: number;
  /** Names of tools whose calls are given back as text. */
  readonly customTools?: ReadonlySet<string>;
  /** The request has `logprobs`: every choice has the field, possibly with an empty list. */
  readonly withLogprobs: boolean;
}

/** Folds the events of one run. Text deltas are joined once at the end, so the cost is linear in the answer. */
export class ChatFold {
  private readonly drafts: ChoiceDraft[];
  private readonly withLogprobs: boolean;
  private readonly customTools: ReadonlySet<string>;
  private readonly agent = new AgentFold();
  private usage: CompletionUsageResponse | undefined;

  constructor({ choices, withLogprobs, customTools }: ChatFoldOptions) {
    this.customTools = customTools ?? new Set();
    this.withLogprobs = withLogprobs;
    this.drafts = Array.from({ length: choices }, () => ({
      text: [],
      reasoning: [],
      calls: [],
      tokens: [],
      reason: undefined,
      stop: undefined,
      fingerprint: undefined,
    }));
  }

  /** Adds an event; throws the ServiceError of an `error` event. */
  add(event: AnswerEvent): void {
    if (isAgentEvent(event)) return this.agent.add(event);
    switch (event.type) {
      case "accepted":
      case "load_progress":
      case "prompt_progress":
        return;
      case "text":
        this.addText(event);
        return;
      case "reasoning":
        this.draft(event.choice).reasoning.push(event.text);
        return;
      case "tool_call_start":
        this.draft(event.choice).calls[event.index] = { id: event.id, name: event.name, args: [] };
        return;
      case "tool_call_args":
        this.call(event.choice, event.index).args.push(event.delta);
        return;
      case "choice_end":
        this.draft(event.choice).reason = event.reason;
        this.draft(event.choice).stop = event.stop;
        this.draft(event.choice).fingerprint = event.fingerprint;
        return;
      case "finish":
        this.usage = usageBody(event.usage, event.timings);
        return;
      case "error":
        throw ServiceError.fromData(event.error);
      default:
        unreachable(event);
    }
  }

  /** The body; requires that the run's `finish` was added. */
  body(meta: AnswerMeta): ChatCompletionResponse {
    assert(this.usage !== undefined, "body requested before the run finished");
    return {
      ...answerHead(meta, "chat.completion"),
      choices: this.drafts.map((draft, index) => this.choiceBody(draft, index)),
      usage: this.usage,
      ...this.agent.body(),
    };
  }

  private addText(event: Extract<RunEvent, { type: "text" | "reasoning" }>): void {
    const draft = this.draft(event.choice);
    draft.text.push(event.text);
    for (const token of event.logprobs ?? []) draft.tokens.push(token);
  }

  private choiceBody(draft: ChoiceDraft, index: number): ChatCompletionResponseChoice {
    assert(draft.reason !== undefined, "run finished before its choice ended");
    return {
      index,
      message: messageBody(draft, this.customTools),
      logprobs: this.withLogprobs ? choiceLogprobs(draft.tokens) : null,
      finish_reason: draft.reason,
      ...defined({ stop_reason: draft.stop, fingerprint: draft.fingerprint }),
    };
  }

  private draft(choice: number): ChoiceDraft {
    const draft = this.drafts[choice];
    assert(draft !== undefined, "event for a choice that was not requested");
    return draft;
  }

  private call(choice: number, index: number): CallDraft {
    const call = this.draft(choice).calls[index];
    assert(call !== undefined, "arguments for a tool call that has not started");
    return call;
  }
}

/** Content is null only if the answer consists of tool calls; an empty answer is an empty string. */
function messageBody(
  { text, reasoning, calls }: ChoiceDraft,
  customTools: ReadonlySet<string>,
): ChatCompletionResponseMessage {
  const content = text.join("");
  return {
    role: "assistant",
    content: content === "" && calls.length > 0 ? null : content,
    refusal: null,
    ...(reasoning.length > 0 ? { reasoning_content: reasoning.join("") } : {}),
    ...(calls.length > 0
      ? {
          tool_calls: calls.map(({ id, name, args }) =>
            customTools.has(name)
              ? { id, type: "custom", custom: { name, input: new CustomInput().add(args.join("")) } }
              : { id, type: "function", function: { name, arguments: args.join("") } },
          ),
        }
      : {}),
  };
}
