// Shows the changes of an answer as chat-completion chunks. Guarantees: every choice starts with the role and ends with its finish
// reason, and the stream has exactly one end.

import type { AgentEvent } from "../../core/agent.ts";
import type { AppliedEdit } from "../../core/applied-edit.ts";
import { contextManagementBody } from "../../core/edit-body.ts";
import type { ErrorData } from "../../core/error.ts";
import type { RunEvent, TokenLogprob } from "../../core/run.ts";
import { agentFrame, cutFilesBody } from "../shared/agent-events.ts";
import type { AnswerMeta } from "../shared/answer.ts";
import {
  type AnswerBlock,
  type AnswerChanges,
  AnswerReducer,
  type Ending,
} from "../shared/answer-reducer.ts";
import { ChunkWriter } from "../shared/chunk-writer.ts";
import { type ProgressEvent, progressBody } from "../shared/progress.ts";
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

/** The stream of one run. */
export function chatStream(meta: AnswerMeta, options: ChatStreamOptions): AnswerReducer {
  const { choices, customTools } = options;
  const isCustom = (name: string) => customTools?.has(name) === true;
  return new AnswerReducer({ choices, isCustom, changes: new ChatChunks(meta, options) });
}

class ChatChunks implements AnswerChanges {
  private readonly writer: ChunkWriter;
  private readonly choices: number;
  private readonly edits: AppliedEdit[] = [];
  private readonly model: string;

  constructor(meta: AnswerMeta, { choices, includeUsage }: ChatStreamOptions) {
    const last = { delta: {} };
    this.writer = new ChunkWriter(meta, { object: "chat.completion.chunk", last, includeUsage });
    this.choices = choices;
    this.model = meta.model;
  }

  progress(event: ProgressEvent): string {
    return this.writer.note(progressBody(event, this.model));
  }

  accepted(): string {
    let frames = "";
    for (let choice = 0; choice < this.choices; choice++) frames += this.writer.delta(choice, OPENING);
    return frames;
  }

  opened(block: AnswerBlock): string {
    if (block.type !== "call") return "";
    const { index, id, name } = block;
    const called =
      block.custom === undefined
        ? { type: "function", function: { name, arguments: "" } }
        : { type: "custom", custom: { name, input: "" } };
    return this.call(block.choice, { index, id, ...called });
  }

  delta(block: AnswerBlock, text: string, tokens: readonly TokenLogprob[] | undefined): string {
    const { choice } = block;
    switch (block.type) {
      case "text": {
        const logprobs = tokens === undefined ? "" : `,"logprobs":${JSON.stringify(choiceLogprobs(tokens))}`;
        return this.writer.delta(choice, `"delta":{"content":${JSON.stringify(text)}}${logprobs}`);
      }
      case "reasoning": // its tokens are not part of `logprobs.content`
        return this.writer.delta(choice, `"delta":{"reasoning_content":${JSON.stringify(text)}}`);
      case "call": {
        const { index, custom } = block;
        const part = custom === undefined ? { function: { arguments: text } } : { custom: { input: text } };
        return this.call(choice, { index, ...part });
      }
    }
  }

  ended(event: Ending): string {
    return this.writer.end(event);
  }

  agent(event: AgentEvent): string {
    if (event.type === "session") this.writer.addFields({ session_id: event.sessionId });
    if (event.type === "context_edited") return this.edited(event.edits);
    if (event.type === "input_cut") this.writer.addFields({ cut_files: cutFilesBody(event.files) });
    return this.writer.flush() + agentFrame(event);
  }

  /** All edits so far in one chunk: later ones would repeat the summary with each token. */
  private edited(edits: readonly AppliedEdit[]): string {
    this.edits.push(...edits);
    return this.writer.note({ context_management: contextManagementBody(this.edits) });
  }

  finished({ usage, timings }: Extract<RunEvent, { type: "finish" }>): string {
    return this.writer.finish(usageBody(usage, timings));
  }

  failed(error: ErrorData): string {
    return this.writer.fail(error);
  }

  private call(choice: number, call: object): string {
    return this.writer.delta(choice, `"delta":{"tool_calls":[${JSON.stringify(call)}]}`);
  }
}
