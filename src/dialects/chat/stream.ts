// Encodes RunEvents as chat-completion chunks. Guarantees: every choice starts with the role and ends with its finish
// reason, and the stream has exactly one end.

import { progressBody } from "../shared/progress.ts";
import { unreachable } from "../../core/assert.ts";
import type { AnswerEvent } from "../../core/agent.ts";
import type { TokenLogprob } from "../../core/run.ts";
import { agentFrame, cutFilesBody, isAgentEvent } from "../shared/agent-events.ts";
import type { AnswerMeta } from "../shared/answer.ts";
import { CustomInput } from "../shared/custom-tools.ts";
import { ChunkWriter } from "../shared/chunk-writer.ts";
import type { StreamEncoder } from "../shared/frame.ts";
import { usageBody } from "../shared/usage.ts";
import { choiceLogprobs } from "./logprobs.ts";

export interface ChatStreamOptions {
  /** Number of choices; each starts with its own chunk. */
  readonly choices: number;
  /** Send usage in a chunk without choices instead of on the final chunk of the last choice. */
  readonly includeUsage: boolean;
  /** Names of tools whose calls are given back as text. */
  readonly customTools?: ReadonlySet<string>;
}

const OPENING = '"delta":{"role":"assistant","content":""}';

/** The chunk encoder of one run. */
export class ChatStream implements StreamEncoder<AnswerEvent> {
  private readonly writer: ChunkWriter;
  private readonly choices: number;
  private readonly model: string;
  private readonly customTools: ReadonlySet<string>;
  /** Open calls of custom tools, by choice and position. */
  private readonly inputs = new Map<string, CustomInput>();
  private ended = false;

  constructor(meta: AnswerMeta, { choices, includeUsage, customTools }: ChatStreamOptions) {
    this.customTools = customTools ?? new Set();
    this.writer = new ChunkWriter(meta, {
      object: "chat.completion.chunk",
      last: { delta: {} },
      includeUsage,
    });
    this.choices = choices;
    this.model = meta.model;
  }

  /** Frames of one event; "" if it has none and for all events after the end. */
  encode(event: AnswerEvent): string {
    if (this.ended) return "";
    if (isAgentEvent(event)) {
      if (event.type === "session") this.writer.addFields({ session_id: event.sessionId });
      if (event.type === "input_cut") this.writer.addFields({ cut_files: cutFilesBody(event.files) });
      return this.writer.flush() + agentFrame(event);
    }
    switch (event.type) {
      case "load_progress":
      case "prompt_progress":
        return this.writer.note(progressBody(event, this.model));
      case "accepted":
        return this.opening();
      case "text": {
        const delta = `"delta":{"content":${JSON.stringify(event.text)}}`;
        return this.writer.delta(event.choice, delta + logprobsField(event.logprobs));
      }
      case "reasoning": // its tokens are not part of `logprobs.content`
        return this.writer.delta(event.choice, `"delta":{"reasoning_content":${JSON.stringify(event.text)}}`);
      case "tool_call_start":
        return this.callStart(event);
      case "tool_call_args":
        return this.callDelta(event);
      case "choice_end":
        return this.writer.end(event);
      case "finish":
        this.ended = true;
        return this.writer.finish(usageBody(event.usage, event.timings));
      case "error":
        this.ended = true;
        return this.writer.fail(event.error);
      default:
        return unreachable(event);
    }
  }

  private callStart({ choice, index, id, name }: Extract<AnswerEvent, { type: "tool_call_start" }>): string {
    const isCustom = this.customTools.has(name);
    if (isCustom) this.inputs.set(`${choice}.${index}`, new CustomInput());
    const called = isCustom
      ? { type: "custom", custom: { name, input: "" } }
      : { type: "function", function: { name, arguments: "" } };
    return this.call(choice, { index, id, ...called });
  }

  private callDelta({ choice, index, delta }: Extract<AnswerEvent, { type: "tool_call_args" }>): string {
    const input = this.inputs.get(`${choice}.${index}`);
    if (input === undefined) return this.call(choice, { index, function: { arguments: delta } });
    const text = input.add(delta);
    return text === "" ? "" : this.call(choice, { index, custom: { input: text } });
  }

  private call(choice: number, call: object): string {
    return this.writer.delta(choice, `"delta":{"tool_calls":[${JSON.stringify(call)}]}`);
  }

  private opening(): string {
    let frames = "";
    for (let choice = 0; choice < this.choices; choice++) frames += this.writer.delta(choice, OPENING);
    return frames;
  }
}

function logprobsField(tokens: readonly TokenLogprob[] | undefined): string {
  return tokens === undefined ? "" : `,"logprobs":${JSON.stringify(choiceLogprobs(tokens))}`;
}
