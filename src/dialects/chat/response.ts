// RunEvents folded into one body: the non-streaming answer. A test holds it equal to the fold of the stream.

import { assert, unreachable } from "../../core/assert.ts";
import { ServiceError } from "../../core/error.ts";
import type { FinishReason, RunEvent } from "../../core/run.ts";
import { type CompletionUsageResponse, usageBody } from "../shared/usage.ts";
import type {
  ChatCompletionResponse,
  ChatCompletionResponseChoice,
  ChatCompletionResponseMessage,
} from "./schema.ts";
import type { AnswerMeta } from "./stream.ts";

interface CallDraft {
  readonly id: string;
  readonly name: string;
  readonly args: string[];
}

interface ChoiceDraft {
  readonly text: string[];
  readonly reasoning: string[];
  readonly calls: CallDraft[];
  reason: FinishReason | undefined;
}

/** Collects the events of one run; pieces are joined once at the end, so the cost is linear in the answer. */
export class ChatFold {
  private readonly drafts: ChoiceDraft[];
  private usage: CompletionUsageResponse | undefined;

  constructor(choices: number) {
    this.drafts = Array.from({ length: choices }, () => ({
      text: [],
      reasoning: [],
      calls: [],
      reason: undefined,
    }));
  }

  /** Takes the next event; throws the ServiceError of an `error` event. */
  add(event: RunEvent): void {
    switch (event.type) {
      case "accepted":
        return;
      case "text":
        this.draft(event.choice).text.push(event.text);
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

  /** The body; only after the run's `finish`. */
  body(meta: AnswerMeta): ChatCompletionResponse {
    assert(this.usage !== undefined, "a body is asked for before the run finished");
    return {
      id: meta.id,
      object: "chat.completion",
      created: meta.created,
      model: meta.model,
      system_fingerprint: meta.fingerprint,
      choices: this.drafts.map(choiceBody),
      usage: this.usage,
    };
  }

  private draft(choice: number): ChoiceDraft {
    const draft = this.drafts[choice];
    assert(draft !== undefined, "an event names a choice that was not asked for");
    return draft;
  }

  private call(choice: number, index: number): CallDraft {
    const call = this.draft(choice).calls[index];
    assert(call !== undefined, "arguments arrive for a tool call that has not started");
    return call;
  }
}

function choiceBody(draft: ChoiceDraft, index: number): ChatCompletionResponseChoice {
  assert(draft.reason !== undefined, "a run finished with a choice that has not ended");
  return { index, message: messageBody(draft), logprobs: null, finish_reason: draft.reason };
}

/** Content is null only when tool calls stand in its place; an empty answer is an empty string. */
function messageBody({ text, reasoning, calls }: ChoiceDraft): ChatCompletionResponseMessage {
  const content = text.join("");
  return {
    role: "assistant",
    content: content === "" && calls.length > 0 ? null : content,
    refusal: null,
    ...(reasoning.length > 0 ? { reasoning_content: reasoning.join("") } : {}),
    ...(calls.length > 0
      ? {
          tool_calls: calls.map(({ id, name, args }) => ({
            id,
            type: "function",
            function: { name, arguments: args.join("") },
          })),
        }
      : {}),
  };
}
