// State of one terminal chat: messages, attached files, settings of the next request. Knows nothing of terminals.

import type { AgentRequest, ContextEdits, Conversation, InputMessage, InputPart } from "../../core/agent.ts";
import { defined } from "../../core/defined.ts";
import type { Preset } from "../../core/preset.ts";
import type { Thinking } from "../../core/run.ts";
import type { ChatModel } from "../../core/model-info.ts";
import { DEFAULT_SAMPLING, samplingNumbers, type SamplingParams } from "../../core/sampling.ts";
import { type Attached, withDocumentTexts } from "./attachments.ts";
import type { ChatChoices } from "./choices.ts";

/** Server tools of this chat. */
export type ChatTools = Partial<Pick<AgentRequest, "python" | "shell" | "webSearch">>;

/** A question within its conversation, with what the person has set: a server knows the other defaults of its models. */
export interface ChatQuestion extends Conversation {
  readonly chosen: Pick<ChatChoices, "sampling" | "thinking">;
}

/** One chat. Its commands change the fields; a question joins it once it has an answer. */
export class ChatState {
  /** What answers; `card` has its defaults. */
  card: ChatModel;
  /** What the person has set; the rest is as the model's defaults say. */
  chosen: Partial<SamplingParams>;
  chosenThinking: Thinking | undefined;
  chosenSystem: string | undefined;
  private readonly maxTokens: number | undefined;
  messages: readonly InputMessage[] = [];
  /** Session of the tools: later questions find its variables and files. */
  sessionId: string | undefined;
  /** What stands for the oldest messages in the model's prompt; undefined while nothing does. */
  summary: string | undefined;
  /** Files, images and audio that go with the next question. */
  attached: readonly Attached[] = [];

  constructor(card: ChatModel, { sampling = {}, maxTokens, system, thinking }: ChatChoices = {}) {
    this.card = card;
    this.chosen = sampling;
    this.maxTokens = maxTokens;
    this.chosenSystem = system;
    this.chosenThinking = thinking;
  }

  get model(): string {
    return this.card.id;
  }

  get system(): string | undefined {
    return this.chosenSystem ?? this.card.preset?.system;
  }

  get thinking(): Thinking {
    return this.chosenThinking ?? { enabled: this.card.preset?.thinking ?? true };
  }

  get sampling(): SamplingParams {
    return { ...DEFAULT_SAMPLING, ...samplingNumbers(this.card.preset ?? {}), ...this.chosen };
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
    this.summary = undefined;
  }

  /** Removes the last question with its answer and returns the question; undefined for an empty conversation. */
  takeBack(): InputMessage | undefined {
    const at = this.messages.findLastIndex(({ role }) => role === "user");
    const question = this.messages[at];
    if (question !== undefined) this.messages = this.messages.slice(0, at);
    return question;
  }

  /** The request for an answer. `interactive`: a person can approve actions. */
  request(question: InputMessage, tools: ChatTools, interactive: boolean): ChatQuestion {
    const system: readonly InputMessage[] =
      this.system === undefined ? [] : [{ role: "system", content: [{ type: "text", text: this.system }] }];
    const { target = this.model, preset = {} } = this.card;
    const hasTools = tools.python === true || tools.shell !== undefined;
    return {
      run: {
        model: target,
        prompt: {
          type: "chat",
          messages: [...system, ...this.messages, question].map((message) =>
            withDocumentTexts(message, hasTools),
          ),
          tools: [],
          toolChoice: { type: "auto" },
          thinking: this.thinking,
        },
        sampling: this.sampling,
        stop: preset.stop ?? [],
        ...defined({ maxTokens: this.maxTokens ?? preset.max_tokens }),
        choices: 1,
        truncate: true,
        progress: true,
      },
      agent: {
        python: false,
        files: [],
        ...tools,
        ...defined({ sessionId: this.sessionId, edits: editsOf(preset) }),
        interactive,
      },
      chosen: { sampling: this.chosen, ...defined({ thinking: this.chosenThinking }) },
    };
  }
}

/** Whether a default compacts long conversations. */
function editsOf({ compact_at: share, summary_model: model }: Preset): ContextEdits | undefined {
  return share === undefined ? undefined : { compact: { share, ...defined({ model }) } };
}

/** The text of a message, without its files. */
export function textOf(content: readonly InputPart[]): string {
  return content.map((part) => (part.type === "text" ? part.text : "")).join("");
}
