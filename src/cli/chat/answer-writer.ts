// Writes one answer as its events arrive. On a terminal: styled Markdown, dimmed reasoning, tool calls. In pipes: the
// answer's text only.

import type { Writable } from "node:stream";
import type { AgentEvent, FileObject, ToolProgress } from "../../core/agent.ts";
import { terminalText } from "../../core/visible-text.ts";
import { MarkdownStream } from "./markdown.ts";
import { columnsOf, WordWrap } from "./word-wrap.ts";
import { begin, endAll, firstLines, painter, type Paint } from "./style.ts";

/** Maximum lines shown of a tool's input, and of its result. */
const TOOL_LINES_MAX = 20;
/** Time to the first event after which the waiting time is shown, milliseconds. */
const PATIENCE_MS = 1000;

export interface Screen {
  readonly output: Writable;
  readonly isTty: boolean;
  readonly colors: boolean;
  /** Whether it knows escape sequences, without which a begun word cannot move to the next line. */
  readonly hasEscapes: boolean;
}

export class AnswerWriter {
  /** Text of the answer so far. */
  answer = "";
  private readonly screen: Screen;
  private readonly paint: Paint;
  private markdown = new MarkdownStream();
  private wrap: WordWrap;
  private isReasoning = false;
  private last = "\n";
  private timer: ReturnType<typeof setTimeout> | undefined;
  private isWaitShown = false;
  private waitingFor = ""; // beside the seconds

  constructor(screen: Screen) {
    this.screen = screen;
    this.wrap = this.newWrap();
    this.paint = painter(screen.colors);
    if (screen.isTty && screen.colors) this.showWait(performance.now());
  }

  /** What the answer waits for, shown while it does: `reading 1,024 of 4,300 tokens, 51 a second, 64 s left`. */
  waits(what: string): void {
    this.waitingFor = `${what}, `;
  }

  text(text: string): void {
    this.answer += text;
    this.endReasoning();
    const { isTty, colors } = this.screen;
    const safe = isTty ? terminalText(text) : text;
    const wasCode = this.markdown.isCode;
    const shown = colors ? this.markdown.write(safe) : safe;
    this.write(this.wrap.write(shown, wasCode || this.markdown.isCode));
  }

  reasoning(text: string): void {
    if (!this.screen.isTty) return;
    const safe = terminalText(text);
    if (!this.isReasoning && this.screen.colors) this.write(begin("dim"));
    this.isReasoning = true;
    this.write(this.wrap.write(safe));
  }

  /** Writes a call of a server tool, its result, or a file it made. */
  tool(
    event: Exclude<
      AgentEvent,
      { readonly type: "session" | "input_cut" | "context_edited" | "approval_required" | "tool_progress" }
    >,
  ): void {
    if (!this.screen.isTty) return;
    this.pause();
    if (event.type === "file_produced") this.line(fileText(event.file));
    else if (event.type === "tool_calling") {
      this.line(`${this.paint("bold", "●")} ${terminalText(event.toolName)}`);
      this.lines(inputOf(event.data));
    } else this.lines(outcomeOf(event.data, event.resultContent));
  }

  /** Leaves the cursor at the start of a line without styles, for other output. */
  pause(): void {
    this.endWait();
    this.endReasoning();
    if (this.screen.colors) this.write(this.markdown.end());
    this.markdown = new MarkdownStream();
    if (this.last !== "\n") this.write("\n");
    this.wrap = this.newWrap();
  }

  private newWrap(): WordWrap {
    const { output, hasEscapes } = this.screen;
    return new WordWrap(() => (hasEscapes ? columnsOf(output) : undefined));
  }

  private lines(text: string): void {
    for (const line of text === "" ? [] : firstLines(terminalText(text), TOOL_LINES_MAX))
      this.line(`  ${this.paint("dim", line)}`);
  }

  private line(text: string): void {
    this.write(`${text}\n`);
  }

  private endReasoning(): void {
    if (!this.isReasoning) return;
    this.isReasoning = false;
    if (this.screen.colors) this.write(endAll());
    if (this.last !== "\n") this.write("\n");
    this.wrap = this.newWrap();
  }

  private write(text: string): void {
    if (text === "") return;
    this.endWait();
    this.screen.output.write(text);
    // Escape sequences do not move the cursor.
    const visible = Bun.stripANSI(text);
    if (visible !== "") this.last = visible.slice(-1);
  }

  private showWait(sinceMs: number): void {
    this.timer = setTimeout(() => {
      const secs = Math.round((performance.now() - sinceMs) / 1000);
      this.isWaitShown = true;
      this.screen.output.write(`\r\u001b[K${begin("dim")}… ${this.waitingFor}${secs} s${endAll()}`);
      this.showWait(sinceMs);
    }, PATIENCE_MS);
  }

  private endWait(): void {
    clearTimeout(this.timer);
    if (this.isWaitShown) this.screen.output.write("\r\u001b[K");
    this.isWaitShown = false;
  }
}

/** Input of a call. */
function inputOf(data: ToolProgress): string {
  switch (data.tool_type) {
    case "code_execution":
      return data.code ?? "";
    case "shell":
      return (data.commands ?? []).map((command) => `$ ${command}`).join("\n");
    case "web_search":
      return data.query ?? "";
    case "custom":
      return data.arguments ?? "";
  }
}

/** Result of a call. */
function outcomeOf(data: ToolProgress, account: string): string {
  switch (data.tool_type) {
    case "code_execution":
      return joined(data.stdout, data.stderr, data.exception, data.result) || account;
    case "shell": {
      const failed = data.exit_code !== undefined && data.exit_code !== null && data.exit_code !== 0;
      const ending = data.timed_out === true ? "(timed out)" : failed ? `(exit code ${data.exit_code})` : "";
      return joined(data.stdout, data.stderr, ending) || account;
    }
    case "web_search":
      return joined(...(data.sources ?? []), data.error) || account;
    case "custom":
      return data.content ?? account;
  }
}

function joined(...texts: readonly (string | undefined)[]): string {
  return texts.flatMap((text) => (text === undefined || text === "" ? [] : [text.trimEnd()])).join("\n");
}

function fileText({ name, bytes, message }: FileObject): string {
  if (message !== undefined) return `● ${terminalText(name)} was not created: ${terminalText(message)}`;
  return `● created ${terminalText(name)} (${bytes} bytes); /get ${terminalText(name)} writes it to disk`;
}
