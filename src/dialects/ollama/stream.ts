// Encodes AnswerEvents as JSON lines. Guarantees: exactly one end, which has `done: true` or is an error. Tool calls are
// sent whole.
//
// Every token of every stream makes a line, so its constant text is built once and only the delta is serialized.

import type { AnswerEvent } from "../../core/agent.ts";
import { unreachable } from "../../core/assert.ts";
import type { TokenLogprob } from "../../core/run.ts";
import { isAgentEvent } from "../shared/agent-events.ts";
import { progressBody } from "../shared/progress.ts";
import type { StreamEncoder } from "../shared/frame.ts";
import { tokenLogprob } from "../shared/logprobs.ts";
import { type EndedChoice, endingOf, headOf, type OllamaMeta, type OllamaShape } from "./answer.ts";
import { OpenCall } from "./calls.ts";

export class OllamaStream implements StreamEncoder<AnswerEvent> {
  private readonly meta: OllamaMeta;
  private readonly shape: OllamaShape;
  /** Text of a line before the delta. */
  private readonly head: string;
  private call: OpenCall | undefined;
  private end: EndedChoice = { reason: "stop" };
  private ended = false;

  constructor(meta: OllamaMeta, shape: OllamaShape) {
    this.meta = meta;
    this.shape = shape;
    this.head = JSON.stringify(headOf(meta)).slice(0, -1);
  }

  /** Lines of one event; "" if it has none and for all events after the end. */
  encode(event: AnswerEvent): string {
    if (this.ended || isAgentEvent(event)) return "";
    switch (event.type) {
      case "accepted":
        return "";
      case "load_progress":
      case "prompt_progress": {
        const field = JSON.stringify(progressBody(event, this.meta.model)).slice(1, -1);
        return this.line(`${this.content("", "")},${field}`);
      }
      case "text":
        return this.flush() + this.line(this.content(event.text, ""), event.logprobs);
      case "reasoning":
        return this.flush() + this.line(this.content("", `,"thinking":${JSON.stringify(event.text)}`));
      case "tool_call_start": {
        const before = this.flush();
        this.call = new OpenCall(event);
        return before;
      }
      case "tool_call_args":
        this.call?.add(event);
        return "";
      case "choice_end":
        this.end = event;
        return this.flush();
      case "finish": {
        this.ended = true;
        const ending = JSON.stringify(endingOf(this.meta, this.end, event)).slice(1);
        return `${this.flush()}${this.head},${this.content("", "")},${ending}\n`;
      }
      case "error":
        this.ended = true;
        return `${this.flush()}${JSON.stringify({ error: event.error.message })}\n`;
      default:
        return unreachable(event);
    }
  }

  /** Line of the open call, if any; closes it. */
  private flush(): string {
    if (this.call === undefined) return "";
    const calls = JSON.stringify([this.call.body()]);
    this.call = undefined;
    return this.line(this.content("", `,"tool_calls":${calls}`));
  }

  /** The text field, followed by other fields of the message. */
  private content(text: string, otherFields: string): string {
    const quoted = JSON.stringify(text);
    if (this.shape === "generate") return `"response":${quoted}${otherFields}`;
    return `"message":{"role":"assistant","content":${quoted}${otherFields}}`;
  }

  private line(content: string, tokens?: readonly TokenLogprob[]): string {
    const logprobs = tokens === undefined ? "" : `,"logprobs":${JSON.stringify(tokens.map(tokenLogprob))}`;
    return `${this.head},${content}${logprobs},"done":false}\n`;
  }
}
