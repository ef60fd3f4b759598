// What a chat has been about so far, and with which settings it goes on. Knows nothing of terminals.

import type { AgentRequest, Conversation, InputMessage, InputPart } from "../../core/agent.ts";
import type { Thinking } from "../../core/run.ts";
import { DEFAULT_SAMPLING, type SamplingParams } from "../../core/sampling.ts";
import type { Attached } from "./attachments.ts";

/** What the server may do by itself in this chat. */
export type ChatTools = Partial<Pick<AgentRequest, "python" | "shell" | "webSearch">>;

/** One chat. Its commands change the fields; a question joins it once it has an answer. */
export class ChatState {
  model: string;
  thinking: Thinking;
  system: string | undefined;
  sampling: SamplingParams = DEFAULT_SAMPLING;
  messages: readonly InputMessage[] = [];
  /** Files, pictures and recordings that go with the next question. */
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

  /** A stopped answer counts as far as it came. */
  remember(question: InputMessage, answer: string): void {
    this.messages = [
      ...this.messages,
      question,
      { role: "assistant", content: [{ type: "text", text: answer }] },
    ];
  }

  /** A question that has no answer: what was attached goes with the next one, media only if the model takes them. */
  giveBack({ content }: InputMessage, withMedia: boolean): void {
    const kept = content.flatMap((part): readonly Attached[] => {
      if (part.type === "file") return [part];
      return withMedia && part.type === "media" ? [part] : [];
    });
    this.attached = [...kept, ...this.attached];
  }

  clear(): void {
    this.messages = [];
    this.attached = [];
  }

  /** Forgets the last answer and gives back its question; undefined when there is none. */
  takeBack(): InputMessage | undefined {
    const at = this.messages.findLastIndex(({ role }) => role === "user");
    const question = this.messages[at];
    if (question !== undefined) this.messages = this.messages.slice(0, at);
    return question;
  }

  /** What is asked of the model. `interactive`: somebody can be asked for an approval. */
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
      agent: { python: false, files: [], ...tools, interactive },
    };
  }
}
