// A chat in the terminal, or one answer for a script. Knows RunRequest and RunEvent and nothing of engines or HTTP;
// the caller hands it `generate` and the streams. It never ends the process: it returns an exit code.

import { createInterface, type Interface } from "node:readline";
import type { Readable, Writable } from "node:stream";
import type { Settings } from "../config/settings.ts";
import { unreachable } from "../core/assert.ts";
import type { Message } from "../core/message.ts";
import type { Generate, RunRequest, Thinking } from "../core/run.ts";
import { DEFAULT_SAMPLING } from "../core/sampling.ts";

export interface TerminalChatOptions {
  readonly generate: Generate;
  /** Name of the model, as a client would send it. */
  readonly model: string;
  readonly input: Readable;
  readonly output: Writable;
  /** Where failures are told; `output` unless given, so that scripts can keep the two apart. */
  readonly errorOutput?: Writable;
  /** Whether a person sits at both ends. Otherwise `input` is read to its end and answered once. */
  readonly isTty: boolean;
  /** One-shot: answer this and return. */
  readonly prompt?: string;
  /** On unless given; thinkingOf makes it from settings. */
  readonly thinking?: Thinking;
}

type ThinkingSettings = Pick<Settings, "thinking" | "reasoning_effort">;

const HELP = `/system TEXT  set the system prompt (alone: remove it)
/clear        forget the conversation
/help         show this
/exit         leave (also Ctrl-D, or Ctrl-C twice)
Ctrl-C        stop an answer
`;

const DIM = "\x1b[2m";
const PLAIN = "\x1b[0m";

/** Chats until the user leaves, or answers once. Returns the exit code: 0, 1 after a failed answer, 2 for no prompt. */
export async function terminalChat(options: TerminalChatOptions): Promise<number> {
  const chat = new Chat(options);
  if (options.prompt === undefined && options.isTty) {
    await converse(chat, options);
    return 0;
  }
  const prompt = options.prompt ?? (await readAll(options.input));
  if (prompt.trim() !== "") return (await chat.answer(prompt, new AbortController().signal)) ? 0 : 1;
  (options.errorOutput ?? options.output).write("svc: there is no prompt to answer\n");
  return 2;
}

/** The `thinking` and `reasoning_effort` settings as a run takes them; undefined where nothing was said. */
export function thinkingOf(settings: ThinkingSettings): Thinking | undefined {
  const { thinking, reasoning_effort: effort } = settings;
  if (thinking === undefined && effort === undefined) return undefined;
  if (thinking === false || effort === "off") return { enabled: false };
  return effort === undefined ? { enabled: true } : { enabled: true, effort };
}

/** One conversation: what was said, and how an answer is written out. */
class Chat {
  private readonly options: TerminalChatOptions;
  private messages: Message[] = [];
  private system: string | undefined;

  constructor(options: TerminalChatOptions) {
    this.options = options;
  }

  clear(): void {
    this.messages = [];
  }

  setSystem(text: string): void {
    this.system = text === "" ? undefined : text;
  }

  /** Streams the answer to `prompt`. False when the run failed; the question is then forgotten. */
  async answer(prompt: string, signal: AbortSignal): Promise<boolean> {
    const { generate, output } = this.options;
    const question: Message = { role: "user", content: [{ type: "text", text: prompt }] };
    const writer = new AnswerWriter(output, this.options.isTty);
    let failure: string | undefined;
    try {
      for await (const event of generate(this.request(question), signal)) {
        switch (event.type) {
          case "text":
            writer.text(event.text);
            break;
          case "reasoning":
            writer.reasoning(event.text);
            break;
          case "error":
            failure = event.error.message;
            break;
          // No tools are offered, so calls cannot come; the other events hold nothing to show.
          case "tool_call_start":
          case "tool_call_args":
          case "accepted":
          case "choice_end":
          case "finish":
            break;
          default:
            unreachable(event);
        }
      }
    } finally {
      writer.end();
    }
    if (failure !== undefined) {
      (this.options.errorOutput ?? output).write(`svc: ${failure}\n`);
      return false;
    }
    this.remember(question, writer.answer);
    return true;
  }

  /** A stopped answer counts as far as it came; one that never began leaves no trace. */
  private remember(question: Message, answer: string): void {
    if (answer === "") return;
    this.messages.push(question, { role: "assistant", content: [{ type: "text", text: answer }] });
  }

  private request(question: Message): RunRequest {
    const system: readonly Message[] =
      this.system === undefined ? [] : [{ role: "system", content: [{ type: "text", text: this.system }] }];
    return {
      model: this.options.model,
      prompt: {
        type: "chat",
        messages: [...system, ...this.messages, question],
        tools: [],
        toolChoice: { type: "none" },
        thinking: this.options.thinking ?? { enabled: true },
      },
      sampling: DEFAULT_SAMPLING,
      stop: [],
      choices: 1,
      truncate: true,
    };
  }
}

/** Writes one answer. On a terminal reasoning is dimmed and set apart; elsewhere it is left out. */
class AnswerWriter {
  answer = "";
  private readonly output: Writable;
  private readonly isTty: boolean;
  private isDim = false;
  private last = "\n";

  constructor(output: Writable, isTty: boolean) {
    this.output = output;
    this.isTty = isTty;
  }

  text(text: string): void {
    this.answer += text;
    this.undim();
    this.write(text);
  }

  reasoning(text: string): void {
    if (!this.isTty) return;
    if (!this.isDim) this.output.write(DIM);
    this.isDim = true;
    this.write(text);
  }

  /** Leaves the cursor at the start of a line, in plain colours, however the answer ended. */
  end(): void {
    this.undim();
    if (this.last !== "\n") this.write("\n");
  }

  private undim(): void {
    if (!this.isDim) return;
    this.isDim = false;
    this.output.write(PLAIN);
    if (this.last !== "\n") this.write("\n");
  }

  private write(text: string): void {
    if (text === "") return;
    // A model may not steer the terminal: every control character but newline and tab is dropped there.
    this.output.write(this.isTty ? text.replace(/[^\P{Cc}\n\t]/gu, "") : text);
    this.last = text.slice(-1);
  }
}

async function converse(chat: Chat, options: TerminalChatOptions): Promise<void> {
  const { input, output } = options;
  const lines = createInterface({ input, output, terminal: true, prompt: "> " });
  const interrupt = new Interrupt(lines, output);
  output.write(`Chatting with ${options.model}. /help lists the commands.\n`);
  lines.prompt();
  for await (const line of lines) {
    const text = line.trim();
    interrupt.reset();
    if (text === "/exit" || text === "/quit") break;
    if (text.startsWith("/")) output.write(runCommand(chat, text));
    else if (text !== "") await chat.answer(text, interrupt.begin());
    interrupt.reset();
    if (interrupt.hasLeft) break;
    lines.prompt();
  }
  lines.close();
}

/** Answers a slash command with what to print. */
function runCommand(chat: Chat, text: string): string {
  const [name = "", ...words] = text.split(/\s+/);
  switch (name) {
    case "/help":
      return HELP;
    case "/clear":
      chat.clear();
      return "The conversation is forgotten.\n";
    case "/system":
      chat.setSystem(words.join(" "));
      return words.length === 0 ? "No system prompt.\n" : "The system prompt is set.\n";
    default:
      return `${name} is not a command; /help lists them.\n`;
  }
}

/**
 * What Ctrl-C means: while an answer runs it stops that answer; on a line with text it empties the line; at an empty
 * prompt the second one in a row leaves.
 */
class Interrupt {
  /** The user closed the input: Ctrl-D, or Ctrl-C twice. Lines typed before may still come. */
  hasLeft = false;
  private running: AbortController | undefined;
  private isWarned = false;

  constructor(lines: Interface, output: Writable) {
    // Ctrl-D in the middle of an answer leaves at once.
    lines.on("close", () => {
      this.hasLeft = true;
      this.running?.abort();
    });
    lines.on("SIGINT", () => {
      if (this.running !== undefined) {
        this.running.abort();
        return;
      }
      const isEmpty = lines.line === "";
      if (isEmpty && this.isWarned) {
        lines.close();
        return;
      }
      this.isWarned = isEmpty;
      output.write(isEmpty ? "\n(Ctrl-C again or /exit leaves)\n" : "\n");
      // Ctrl-U: readline has no call that empties the line.
      if (!isEmpty) lines.write(null, { ctrl: true, name: "u" });
      lines.prompt();
    });
  }

  /** An answer starts; the signal aborts at the next Ctrl-C. */
  begin(): AbortSignal {
    this.running = new AbortController();
    return this.running.signal;
  }

  reset(): void {
    this.running = undefined;
    this.isWarned = false;
  }
}

async function readAll(input: Readable): Promise<string> {
  const decoder = new TextDecoder();
  let text = "";
  for await (const chunk of input as AsyncIterable<Uint8Array | string>) {
    text += typeof chunk === "string" ? chunk : decoder.decode(chunk, { stream: true });
  }
  return text + decoder.decode();
}
