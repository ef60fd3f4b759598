// Input of a chat: a line editor on a terminal. Input typed during an answer is not echoed and waits for the next prompt.
// Knows nothing of models.

import { type Completer, createInterface, type Interface, type Key } from "node:readline";
import { Transform, Writable, type Readable } from "node:stream";
import { StringDecoder } from "node:string_decoder";
import { TYPED_AHEAD_MAX, HISTORY_LINES_MAX } from "./limits.ts";
import { PASTE_MARKS, PasteFilter, withLineEnds, withLineSigns } from "./paste.ts";

export interface KeyboardOptions {
  readonly input: Readable;
  readonly output: Writable;
  /** Earlier lines, newest first. */
  readonly history: readonly string[];
  /** Called with all lines, newest first, when there is a new one. */
  readonly onHistory: (lines: readonly string[]) => void;
  /** Ctrl-C; `line` is the text at the prompt, undefined while no prompt is shown. */
  readonly onInterrupt: (line: string | undefined) => void;
  /** The input has ended: Ctrl-D. */
  readonly onClose: () => void;
  readonly completer: Completer;
  /** Whether the terminal knows escape sequences; default: it does. */
  readonly hasEscapes?: boolean;
}

const GRAPHEMES = new Intl.Segmenter();
/** What the editor does with Ctrl and a letter, by the key that does the same. */
const CONTROL_KEYS: ReadonlyMap<string, string> = new Map([
  ["h", "backspace"],
  ["b", "left"],
  ["d", "delete"],
  ["f", "right"],
]);

/** Prompt after a line that ends with a backslash. */
const CONTINUED = "… ";

export class Keyboard {
  private readonly output: Writable;
  private readonly lines: Interface;
  private readonly gate: Gate;
  private readonly hasEscapes: boolean;
  private readonly ahead: string[] = []; // typed while no prompt was shown
  private asking: PromiseWithResolvers<string | undefined> | undefined;
  private begun: string[] = []; // lines of a question that is not complete, for the history
  private isPrivate = false; // the line is no part of the history
  private isClosed = false;

  constructor(options: KeyboardOptions) {
    const { input, output, history, onHistory, onInterrupt, onClose, completer } = options;
    this.output = output;
    this.gate = new Gate(output);
    this.hasEscapes = options.hasEscapes ?? true;
    this.markPastes("on");
    const keys = filtered(input);
    keys.prependListener("keypress", (_, key: Key | undefined) => this.restOfCharacter(key));
    this.lines = createInterface({
      input: keys,
      output: this.gate,
      terminal: true,
      completer,
      history: [...history],
      historySize: HISTORY_LINES_MAX,
      removeHistoryDuplicates: true,
    });
    this.lines.on("line", (line) => this.receive(line));
    this.lines.on("history", (all: string[]) => {
      if (this.keeps(all)) onHistory(all);
    });
    this.lines.on("SIGINT", () => onInterrupt(this.asking === undefined ? undefined : this.lines.line));
    // Ctrl-Z, then `fg`: the editor has paused, and the shell has switched the marks off.
    this.lines.on("SIGCONT", () => {
      this.markPastes("on");
      this.lines.resume();
    });
    this.lines.on("close", () => {
      this.isClosed = true;
      onClose();
      this.asking?.resolve(undefined);
    });
  }

  /** Puts the newest line into the history: a question of several lines is one entry. False: nothing to keep. */
  private keeps(all: string[]): boolean {
    const [line] = all;
    if (this.isPrivate || line === undefined || line.endsWith("\\")) {
      all.shift();
      if (!this.isPrivate && line !== undefined) this.begun.push(line.slice(0, -1));
      return false;
    }
    if (this.begun.length > 0) all[0] = withLineSigns([...this.begun, line].join("\n"));
    this.begun = [];
    return true;
  }

  /**
   * The next input: a line, or several where each but the last ends with a backslash; undefined at the end of input. `initial`
   * is on the line already, to be edited.
   */
  async read(prompt: string, initial = ""): Promise<string | undefined> {
    let text = "";
    for (let shown = prompt; ; shown = CONTINUED) {
      const line = this.takeAhead(shown) ?? (await this.ask(shown, shown === prompt ? initial : ""));
      if (line === undefined) return undefined;
      if (!line.endsWith("\\")) {
        this.begun = [];
        return withLineEnds(text + line);
      }
      text += `${line.slice(0, -1)}\n`;
    }
  }

  /**
   * Prompts during an answer. Text typed before is restored at the next prompt. Undefined when the input has ended or
   * `signal` is aborted.
   */
  async question(prompt: string, signal: AbortSignal): Promise<string | undefined> {
    const unfinished = this.lines.line;
    this.clear();
    this.isPrivate = true;
    const onAbort = (): void => this.asking?.resolve(undefined);
    signal.addEventListener("abort", onAbort, { once: true });
    try {
      return signal.aborted ? undefined : await this.ask(prompt);
    } finally {
      signal.removeEventListener("abort", onAbort);
      this.isPrivate = false;
      this.clear();
      this.lines.write(unfinished);
    }
  }

  /**
   * The editor moves over and deletes code points, of which a flag or a family has several: the key is repeated for all of the character
   * but the last, which follows.
   */
  private restOfCharacter(key: Key | undefined): void {
    if (key === undefined || key.meta === true) return;
    const name = key.ctrl === true ? CONTROL_KEYS.get(key.name ?? "") : key.name;
    const isBack = name === "backspace" || name === "left";
    if (!isBack && name !== "delete" && name !== "right") return;
    const { line, cursor } = this.lines;
    const characters = [...GRAPHEMES.segment(isBack ? line.slice(0, cursor) : line.slice(cursor))];
    const character = characters.at(isBack ? -1 : 0)?.segment ?? "";
    for (let n = Array.from(character).length; n > 1; n--) this.lines.write(null, key);
  }

  /** Empties the line that is being typed and shows the prompt again. */
  restart(): void {
    this.gate.isOpen = false;
    this.clear();
    this.gate.isOpen = true;
    this.output.write("\n");
    this.lines.prompt();
  }

  close(): void {
    this.lines.close();
    this.markPastes("off");
  }

  private markPastes(state: keyof typeof PASTE_MARKS): void {
    if (this.hasEscapes) this.output.write(PASTE_MARKS[state]);
  }

  private async ask(prompt: string, initial = ""): Promise<string | undefined> {
    if (this.isClosed) return undefined;
    const asking = Promise.withResolvers<string | undefined>();
    this.asking = asking;
    this.gate.isOpen = true;
    this.lines.setPrompt(prompt);
    this.lines.prompt(true);
    if (initial !== "") this.lines.write(withLineSigns(initial));
    try {
      return await asking.promise;
    } finally {
      this.asking = undefined;
      this.gate.isOpen = false;
    }
  }

  private receive(line: string): void {
    const { asking } = this;
    this.asking = undefined;
    this.gate.isOpen = false;
    if (asking !== undefined) asking.resolve(line);
    else if (this.ahead.length < TYPED_AHEAD_MAX) this.ahead.push(line);
  }

  /** A line that was typed ahead, echoed now. */
  private takeAhead(prompt: string): string | undefined {
    const line = this.isClosed ? undefined : this.ahead.shift();
    if (line !== undefined) this.output.write(`${prompt}${line}\n`);
    return line;
  }

  private clear(): void {
    // readline has no call that empties the line: Ctrl-E goes to its end, Ctrl-U deletes back to its start.
    this.lines.write(null, { ctrl: true, name: "e" });
    this.lines.write(null, { ctrl: true, name: "u" });
  }
}

/** Forwards the line editor's output to the terminal while it is open. */
class Gate extends Writable {
  isOpen = false;
  private readonly output: Writable;

  constructor(output: Writable) {
    super({ decodeStrings: false });
    this.output = output;
    output.on("resize", () => this.emit("resize"));
  }

  /** Width of the terminal, for the line editor. */
  get columns(): number {
    return "columns" in this.output && typeof this.output.columns === "number" ? this.output.columns : 80;
  }

  override _write(chunk: string | Uint8Array, _encoding: string, done: () => void): void {
    if (this.isOpen) this.output.write(chunk);
    done();
  }
}

/** Key input with pasted text on one line; forwards raw mode to the terminal. */
function filtered(input: Readable): Readable {
  const paste = new PasteFilter();
  const decoder = new StringDecoder("utf8");
  const keys = new Transform({
    transform: (chunk: Buffer, _encoding, done) => done(null, paste.push(decoder.write(chunk))),
  });
  const setRawMode =
    "setRawMode" in input && typeof input.setRawMode === "function" ? input.setRawMode : undefined;
  return Object.assign(input.pipe(keys), {
    isTTY: true,
    setRawMode: (isRaw: boolean): void => void setRawMode?.call(input, isRaw),
  });
}
