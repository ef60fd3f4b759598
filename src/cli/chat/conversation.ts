// State of one terminal chat: messages, attached files, settings of the next request. Knows nothing of terminals.

import type { AgentRequest, Conversation, InputMessage, InputPart } from "../../core/agent.ts";
import { defined } from "../../core/defined.ts";
import type { Thinking } from "../../core/run.ts";
import { DEFAULT_SAMPLING, type SamplingParams } from "../../core/sampling.ts";
import type { Attached } from "./attachments.ts";

/** Server tools of this chat. */
export type ChatTools = Partial<Pick<AgentRequest, "python" | "shell" | "webSearch">>;

/** One chat. Its commands change the fields; a question joins it once it has an answer. */
export class ChatState {
  model: string;
  thinking: Thinking;
  system: string | undefined;
  sampling: SamplingParams = DEFAULT_SAMPLING;
  messages: readonly InputMessage[] = [];
  /** Session of the tools: later questions find its variables and files. */
  sessionId: string | undefined;
  /** Files, images and audio that go with the next question. */
  attached: readonly Attached[] = [];

  constructor(model: string, thinking: Thinking) {
    this.model = model;
    this.thinking = thinking;
  }

  /** The next question, with the files that were attached since the last one. */
  question(text: string): InputMessage {
    const content: InputPart[] = [...this.attached, { type: "text", text }];
    this.attached = [];
    return { role: "user", content };
  }

  /** Adds a question with its answer; of a stopped answer, what was received. */
  remember(question: InputMessage, answer: string): void {
    this.messages = [
      ...this.messages,
      question,
      { role: "assistant", content: [{ type: "text", text: answer }] },
    ];
  }

  /** A question without an answer: its files are attached to the next one. Returns its text, to be edited. */
  giveBack({ content }: InputMessage): string {
    const kept = content.flatMap((part): readonly Attached[] =>
      part.type === "file" || part.type === "media" ? [part] : [],
    );
    this.attached = [...kept, ...this.attached];
    return textOf(content);
  }

  clear(): void {
    this.messages = [];
    this.attached = [];
    this.sessionId = undefined;
  }

  /** Removes the last question with its answer and returns the question; undefined for an empty conversation. */
  takeBack(): InputMessage | undefined {
    const at = this.messages.findLastIndex(({ role }) => role === "user");
    const question = this.messages[at];
    if (question !== undefined) this.messages = this.messages.slice(0, at);
    return question;
  }

  /** The request for an answer. `interactive`: a person can approve actions. */
  request(question: InputMessage, tools: ChatTools, interactive: boolean): Conversation {
    const system: readonly InputMessage[] =
      this.system === undefined ? [] : [{ role: "system", content: [{ type: "text", text: this.system }] }];
    return {
      run: {
        model: this.model,
        prompt: {
          type: "chat",
          messages: [...system, ...this.messages, question],
          tools: [],
          toolChoice: { type: "auto" },
          thinking: this.thinking,
        },
        sampling: this.sampling,
        stop: [],
        choices: 1,
        truncate: true,
      },
      agent: {
        python: false,
        files: [],
        ...tools,
        ...defined({ sessionId: this.sessionId }),
        interactive,
      },
    };
  }
}

/** The text of a message, without its files. */
export function textOf(content: readonly InputPart[]): string {
  return content.map((part) => (part.type === "text" ? part.text : "")).join("");
}
