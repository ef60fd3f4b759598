// Terminal chat, or one answer for a script. Knows conversations and answer events; nothing of engines or HTTP, which the
// caller hides behind `converse`. Returns an exit code.

import type { Readable, Writable } from "node:stream";
import type { Settings } from "../config/settings.ts";
import { defined } from "../core/defined.ts";
import { unreachable } from "../core/assert.ts";
import type { AnswerApproval, Converse, FileObject, InputMessage } from "../core/agent.ts";
import type { AppliedEdit } from "../core/applied-edit.ts";
import { SERVER } from "../core/caller.ts";
import { reasonOf } from "../core/reason.ts";
import { CHAT_FILES_MAX } from "./chat/limits.ts";
import type { Thinking } from "../core/run.ts";
import { terminalText } from "../core/visible-text.ts";
import { AnswerWriter, type Screen } from "./chat/answer-writer.ts";
import { type ApprovalRequired, type AskLine, askApproval } from "./chat/approval.ts";
import { type Attachment, readAttachment } from "./chat/attachments.ts";
import type { ChatChoices } from "./chat/choices.ts";
import { runCommand } from "./chat/commands.ts";
import { chatCompleter } from "./chat/completer.ts";
import { type ChatQuestion, ChatState, type ChatTools } from "./chat/conversation.ts";
import { cutLine, editLine } from "./chat/edit-notes.ts";
import { readHistory, writeHistory } from "./chat/history.ts";
import { Keyboard } from "./chat/keyboard.ts";
import { modelNote } from "./chat/model-note.ts";
import type { ChatModel } from "../core/model-info.ts";
import { ChatStats, promptProgressText, statsLine } from "./chat/stats.ts";
import { painter, type Paint, toClipboard } from "./chat/style.ts";
import { columnsOf, wrapped } from "./chat/word-wrap.ts";

export interface TerminalChatOptions {
  readonly converse: Converse<ChatQuestion>;
  /** Name of the model, as a client would send it. */
  readonly model: string;
  /** All that /model may choose from; default: the one model. */
  readonly cards?: readonly ChatModel[];
  /** Address of the server that answers; absent: models are loaded here. */
  readonly url?: string;
  readonly input: Readable;
  readonly output: Writable;
  /** Errors; default: `output`. */
  readonly errorOutput?: Writable;
  /** Interactive. Otherwise `input` is read to its end and answered once. */
  readonly isTty: boolean;
  /** ANSI styles; default: on a terminal. */
  readonly colors?: boolean;
  /** Whether the terminal knows escape sequences; default: it does. */
  readonly hasEscapes?: boolean;
  /** One-shot: answer this and return. */
  readonly prompt?: string;
  /** Attached to the first question. */
  readonly files?: readonly Attachment[];
  /** What the person has set; the rest is as the model's defaults say. thinkingOf makes thinking from settings. */
  readonly choices?: ChatChoices;
  /** Server tools. */
  readonly tools?: ChatTools;
  /** The same in words, printed at the start. */
  readonly toolLine?: string | undefined;
  /** Delivers a decision to a waiting action. */
  readonly answerApproval?: AnswerApproval;
  /** Input history of all chats. */
  readonly historyFile?: string;
}

type ThinkingSettings = Pick<Settings, "thinking" | "reasoning_effort">;

/** Chats until the user leaves, or answers once. Returns the exit code: 0, 1 after a failed answer, 2 for no prompt. */
export async function terminalChat(options: TerminalChatOptions): Promise<number> {
  const chat = new Chat(options);
  const complain = (what: string): number => {
    (options.errorOutput ?? options.output).write(`svc: ${terminalText(what)}\n`);
    return 2;
  };
  try {
    chat.state.attached = (options.files ?? []).map(readAttachment);
  } catch (error) {
    return complain(reasonOf(error));
  }
  if (options.prompt === undefined && options.isTty) {
    await talk(chat, options);
    return 0;
  }
  const prompt = options.prompt ?? (await readAll(options.input));
  if (prompt.trim() === "")
    return complain("no prompt. Give one as an argument, with -i, or through a pipe.");
  return (await chat.answer(chat.state.question(prompt), new AbortController().signal)) ? 0 : 1;
}

/** The `thinking` and `reasoning_effort` settings as a run takes them; undefined when unset. */
export function thinkingOf(settings: ThinkingSettings): Thinking | undefined {
  const { thinking, reasoning_effort: effort } = settings;
  if (thinking === undefined && effort === undefined) return undefined;
  if (thinking === false || effort === "off") return { enabled: false };
  return effort === undefined ? { enabled: true } : { enabled: true, effort };
}

/** The card of the model that a chat begins with. */
function cardOf({ model, cards = [] }: TerminalChatOptions): ChatModel {
  return cards.find(({ id }) => id === model) ?? { id: model };
}

/** One conversation and the output of its answers. */
class Chat {
  readonly state: ChatState;
  readonly stats = new ChatStats();
  /** Files made by tools, by name; the oldest are evicted first. */
  readonly made = new Map<string, FileObject>();
  /** Prompts the user; undefined when not interactive. */
  ask: AskLine | undefined;
  private readonly options: TerminalChatOptions;
  private readonly screen: Screen;
  private readonly paint: Paint;

  constructor(options: TerminalChatOptions) {
    const { output, isTty, colors = isTty, hasEscapes = isTty } = options;
    this.options = options;
    this.screen = { output, isTty, colors, hasEscapes };
    this.paint = painter(colors);
    this.state = new ChatState(cardOf(options), options.choices);
  }

  /** Text of a question that failed, for the next input line. */
  unanswered = "";

  /** Streams the answer to a question. False when the run failed. */
  async answer(question: InputMessage, signal: AbortSignal): Promise<boolean> {
    const writer = new AnswerWriter(this.screen);
    let failure: string | undefined;
    try {
      failure = await this.follow(question, writer, signal);
    } catch (error) {
      failure = reasonOf(error);
    } finally {
      writer.pause();
    }
    const { output, errorOutput = output, isTty } = this.options;
    const isAnswered = (failure === undefined || signal.aborted) && writer.answer !== "";
    if (isAnswered) this.state.remember(question, writer.answer);
    else this.unanswered = this.state.giveBack(question);
    if (signal.aborted) output.write(`${this.paint("dim", "(stopped)")}\n`);
    else if (failure !== undefined) errorOutput.write(`svc: ${terminalText(failure)}\n`);
    if (isTty && !isAnswered && !signal.aborted && this.state.attached.length > 0)
      output.write("The question and its files are kept: change it, or drop the files with /detach.\n");
    return isAnswered || failure === undefined;
  }

  /** Writes the events of an answer; returns the reason of a failure. */
  private async follow(
    question: InputMessage,
    writer: AnswerWriter,
    signal: AbortSignal,
  ): Promise<string | undefined> {
    const { converse, tools = {}, output } = this.options;
    const request = this.state.request(question, tools, this.ask !== undefined);
    const startMs = performance.now();
    let firstSecs: number | undefined;
    for await (const event of converse(request, signal, SERVER)) {
      switch (event.type) {
        case "text":
        case "reasoning":
          firstSecs ??= (performance.now() - startMs) / 1000;
          writer[event.type](event.text);
          break;
        case "error":
          return event.error.message;
        case "tool_calling":
        case "tool_complete":
          writer.tool(event);
          break;
        case "file_produced":
          this.keep(event.file);
          writer.tool(event);
          break;
        case "approval_required":
          writer.pause();
          await this.decide(event);
          break;
        case "finish": {
          const { usage, timings } = event;
          this.stats.add({ usage, timings, firstSecs });
          writer.pause();
          const line = statsLine({ usage, timings, firstSecs });
          if (this.screen.isTty) output.write(`${this.paint("dim", line)}\n`);
          break;
        }
        case "load_progress":
          writer.waits(`loading the model: ${Math.floor(event.permille / 10)} %`);
          break;
        case "prompt_progress":
          writer.waits(promptProgressText(event));
          break;
        // Server tools are shown by their progress events; the others show nothing.
        case "tool_progress":
        case "tool_call_start":
        case "tool_call_args":
        case "accepted":
        case "choice_end":
          break;
        case "context_edited":
          this.noteEdits(event.edits, writer);
          break;
        case "input_cut":
          this.note(event.files.map(cutLine), writer);
          break;
        case "session":
          this.state.sessionId = event.sessionId;
          break;
        default:
          unreachable(event);
      }
    }
    return undefined;
  }

  /** Every question is sent with all before it, so a summary comes back each time: the same one is noted once. */
  private noteEdits(edits: readonly AppliedEdit[], writer: AnswerWriter): void {
    const summary = edits.findLast((edit) => edit.type === "compaction")?.summary;
    const isKnown = summary !== undefined && summary === this.state.summary;
    this.state.summary = summary ?? this.state.summary;
    const more = isKnown || summary === undefined || this.ask === undefined ? [] : ["/summary shows it"];
    const told = edits.filter(({ type }) => type !== "compaction" || !isKnown);
    this.note([...told.map(editLine), ...more], writer);
  }

  /** Lines about the prompt, for people: beside the answer where that goes to a program. */
  private note(lines: readonly string[], writer: AnswerWriter): void {
    if (lines.length === 0) return;
    const { output, errorOutput = output, isTty } = this.options;
    writer.pause();
    for (const line of lines.map(terminalText))
      if (isTty) output.write(`${this.paint("dim", line)}\n`);
      else errorOutput.write(`svc: ${line}\n`);
  }

  private async decide(event: ApprovalRequired): Promise<void> {
    const { ask } = this;
    const show = (text: string): void => void this.options.output.write(text);
    const decision =
      ask === undefined ? ({ approved: false } as const) : await askApproval(event, this.paint, ask, show);
    this.options.answerApproval?.(event.approvalId, decision, SERVER);
  }

  private keep(file: FileObject): void {
    this.made.set(file.name, file);
    const [oldest] = this.made.keys();
    if (this.made.size > CHAT_FILES_MAX && oldest !== undefined) this.made.delete(oldest);
  }
}

/** Interactive conversation. */
async function talk(chat: Chat, options: TerminalChatOptions): Promise<void> {
  const { input, output, historyFile, cards = [{ id: options.model }] } = options;
  const interrupt = new Interrupt();
  const keyboard = new Keyboard({
    input,
    output,
    history: historyFile === undefined ? [] : readHistory(historyFile),
    onHistory: (lines) => historyFile !== undefined && writeHistory(historyFile, lines),
    onInterrupt: (line) => {
      const meaning = interrupt.meaning(line);
      if (meaning === "leave") keyboard.close();
      if (meaning === "warn") output.write("\n(Ctrl-C again or /exit leaves)");
      if (meaning === "warn" || meaning === "empty") keyboard.restart();
    },
    onClose: () => interrupt.leave(),
    completer: chatCompleter(cards.map(({ id }) => id)),
    ...defined({ hasEscapes: options.hasEscapes }),
  });
  const answer = async (question: InputMessage): Promise<boolean> => {
    const signal = interrupt.begin();
    chat.ask = (text) => keyboard.question(text, signal);
    const isAnswered = await chat.answer(question, signal);
    interrupt.end();
    return isAnswered;
  };
  const say = (text: string): void => void output.write(wrapped(text, columnsOf(output)));
  const card = cardOf(options);
  say(modelNote(card, options.url));
  if (options.toolLine !== undefined) say(`Tools: ${options.toolLine}.\n`);
  while (!interrupt.hasLeft) {
    const initial = chat.unanswered;
    chat.unanswered = "";
    const text = (await keyboard.read("> ", initial))?.trim();
    interrupt.end();
    if (text === undefined) break;
    if (!text.startsWith("/")) {
      if (text !== "") await answer(chat.state.question(text));
      continue;
    }
    const { state, stats, made } = chat;
    const outcome = runCommand(text, { state, stats, made, cards });
    say(terminalText(outcome.text));
    if (outcome.copy !== undefined) output.write(toClipboard(outcome.copy));
    chat.unanswered = outcome.edit ?? "";
    if (outcome.next === "leave") break;
    if (outcome.next === "retry") await retry(chat, output, answer);
  }
  keyboard.close();
}

/** Answers the last question again; the old answer stays if that fails. */
async function retry(
  chat: Chat,
  output: Writable,
  answer: (question: InputMessage) => Promise<boolean>,
): Promise<void> {
  const { messages, attached } = chat.state;
  const question = chat.state.takeBack();
  if (question === undefined) {
    output.write("No question yet.\n");
  } else if (!(await answer(question))) {
    chat.state.messages = messages;
    chat.state.attached = attached;
    chat.unanswered = "";
  }
}

/**
 * Meaning of Ctrl-C: stops a running answer; empties a line with text; at an empty prompt, the second one in a row
 * leaves.
 */
class Interrupt {
  /** The user closed the input: Ctrl-D, or Ctrl-C twice. Buffered lines may still arrive. */
  hasLeft = false;
  private running: AbortController | undefined;
  private isWarned = false;

  /** `line`: typed so far at the prompt; undefined while no prompt is shown. */
  meaning(line: string | undefined): "nothing" | "empty" | "warn" | "leave" {
    if (this.running !== undefined) {
      this.running.abort();
      return "nothing";
    }
    if (line === undefined) return "nothing";
    if (line !== "") return "empty";
    if (this.isWarned) return "leave";
    this.isWarned = true;
    return "warn";
  }

  /** Ctrl-D during an answer leaves at once. */
  leave(): void {
    this.hasLeft = true;
    this.running?.abort();
  }

  /** An answer starts; the signal aborts at the next Ctrl-C. */
  begin(): AbortSignal {
    this.running = new AbortController();
    if (this.hasLeft) this.running.abort();
    return this.running.signal;
  }

  /** An answer ended, or a line was sent. */
  end(): void {
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
