// Decides which markup of a streamed answer is markup: where calls begin, and where reasoning ends. Other text that looks like it,
// such as a tag that the answer talks about, passes with its first letter replaced, so that the format's parser takes it for text.
//
// A call within reasoning, or within a code fence, is one only if nothing but the end of either follows it: answers quote calls.
// An answer may mention a marker: 19 of 42 formats made a call of it. Rejected: ending reasoning at the marker; waiting for the name's
// first letter in every format, since small models misspell names.

import type { CallStarts, OutputFormat, ParsedMessage } from "./backend.ts";
import { HoldBack, type Released } from "./hold-back.ts";

/** Text of the answer for the parser. call: calls begin with it. apart: reasoning that the parser does not know. */
export interface Passed {
  readonly text: string;
  readonly as: "answer" | "call" | "apart";
}

/** An opener that is undecided after that many characters is text. */
const OPEN_MAX = 4096;
/** While a call within reasoning goes on, it is parsed when 1/2^n of it is new. */
const REPARSE_SHIFT = 3;
/** Longer than the end of reasoning, and than that of a code fence up to its marks. */
const QUOTE_END_MAX = 256;
/** Noncharacters of Unicode, which no text contains. */
const MASK_FIRST = 0xfdd0;
const MASK_LAST = 0xfdef;
const MASKS = new RegExp(`[${String.fromCharCode(MASK_FIRST)}-${String.fromCharCode(MASK_LAST)}]`, "g");

/**
 * start: nothing but white space has come. free: text or reasoning. opener: the held text begins with an opener. quoted: with a
 * call that may be a quotation. calls: calls have begun.
 */
type State = "start" | "free" | "opener" | "quoted" | "calls";

export class CallGate {
  private readonly calls: CallStarts | undefined;
  private readonly format: OutputFormat;
  private readonly ends: readonly string[];
  private readonly start: string; // opens reasoning
  private readonly needles: HoldBack;
  private readonly letters: string; // first letters of openers and tags
  /** What the parser makes of all that has been taken from here and a text after it. */
  private readonly probe: (text: string) => ParsedMessage | undefined;
  private state: State;
  private held = "";
  private reasoning: boolean;
  private apart = false; // the parser does not know that this is reasoning
  private wasApart = false;
  private reasoned: boolean;
  private said = ""; // since the end of reasoning
  private lastLetter = "";
  private gap = ""; // white space before an opener: the format may own it
  private cut = false; // the answer has ended before the model ended it
  private probedTo = 0;
  private searched = 0; // held text without the end of what a call is quoted in
  private out: Passed[] = [];

  constructor(format: OutputFormat, probe: (text: string) => ParsedMessage | undefined) {
    const { calls, thinkingEnds, thinkingStart, startsInReasoning } = format;
    this.format = format;
    this.calls = calls;
    this.probe = probe;
    const openers = calls?.openers ?? [];
    this.ends = thinkingEnds.filter((end) => end.trimStart() === end);
    this.start = thinkingStart.trimStart();
    this.needles = new HoldBack([...this.ends, ...openers, ...(format.reopens === true ? [this.start] : [])]);
    this.letters = [...new Set([...openers, ...this.ends].map((text) => text.charAt(0)))].join("");
    this.reasoning = startsInReasoning;
    this.reasoned = startsInReasoning;
    this.state = this.start === "" ? "free" : "start";
  }

  /** Whether the model is reasoning, from the opening tag on. */
  get inReasoning(): boolean {
    return this.reasoning && this.state !== "calls";
  }

  /** Whether reasoning that the parser does not know has ended. */
  get hasReasoned(): boolean {
    return this.wasApart && !this.reasoning;
  }

  /** Whether no text is held back. */
  get isSettled(): boolean {
    return (this.state === "free" || this.state === "start") && this.held.trim() === "";
  }

  /** The text with the letters that were replaced. */
  unmasked(text: string): string {
    const letter = (mask: string): string => this.letters[mask.charCodeAt(0) - MASK_FIRST] ?? mask;
    return text.replaceAll(MASKS, letter);
  }

  push(text: string): readonly Passed[] {
    if (this.state === "calls") return [{ text, as: "answer" }];
    this.out = [];
    this.held += text;
    this.advance(false);
    return this.out;
  }

  /** The answer has ended. `cut`: before the model ended it; markup that has only begun is left out then. */
  end(cut: boolean): readonly Passed[] {
    this.out = [];
    if (this.state === "calls") return [];
    this.cut = cut;
    if (cut && this.state !== "quoted") this.leaveOut();
    this.advance(true);
    this.pass(this.held);
    this.held = "";
    return this.out;
  }

  private isAtLine(): boolean {
    return this.lastLetter === "" || this.lastLetter === "\n";
  }

  /** Drops held text that is the beginning of markup. */
  private leaveOut(): void {
    const isLetter = this.held.length < 2 && !this.isAtLine() && this.calls?.required !== true;
    if (!isLetter) this.held = "";
    this.gap = "";
    this.state = "free";
  }

  /** What the parser makes of all that has passed and a text after it. */
  private parsed(text: string): ParsedMessage | undefined {
    const passed = this.out.map((one) => (one.as === "apart" ? "" : one.text));
    return this.probe(passed.join("") + text);
  }

  private advance(isLast: boolean): void {
    let goesOn = true;
    while (goesOn && this.state !== "calls") {
      if (this.state === "start") goesOn = this.begin(isLast);
      else if (this.state === "free") goesOn = this.find(isLast);
      else if (this.state === "opener") goesOn = this.judge(isLast);
      else goesOn = this.settle(isLast);
    }
  }

  /** Whether the answer begins with reasoning, or repeats the tag with which the template has begun it. */
  private begin(isLast: boolean): boolean {
    const { start } = this;
    const { startsInReasoning, thinkingStart } = this.format;
    const text = this.held.trimStart();
    const isOpen = text.length <= start.length && start.startsWith(text);
    if (!isLast && isOpen) return false;
    this.state = "free";
    if (!text.startsWith(start)) return true;
    this.reasoning = true;
    this.reasoned = true;
    this.apart = !startsInReasoning && this.reasons(`${thinkingStart}x`) === 0;
    if (this.apart || startsInReasoning) this.held = text.slice(start.length).replace(/^\n/, "");
    return true;
  }

  /** Passes text up to the next markup. */
  private find(isLast: boolean): boolean {
    const { free, match, rest } = this.needles.push(this.held);
    const isOpener = match !== undefined && match !== this.start && !this.ends.includes(match);
    const solid = isOpener ? free.trimEnd() : free;
    this.gap = free.slice(solid.length);
    this.pass(solid);
    this.held = match === undefined ? this.needles.flush() : rest;
    if (match === undefined) return false;
    if (isOpener) {
      this.state = "opener";
      return true;
    }
    if (match === this.start) return this.open();
    return this.reasoning ? this.close(match) : this.stray(match, isLast);
  }

  /** Reasoning begins again where the parser says so; else the tag is text. */
  private open(): boolean {
    if (!this.reasoning && this.reasons(`${this.start}x`) > this.reasons("")) {
      this.reasoning = true;
      this.reasoned = true;
    }
    this.pass(this.start);
    this.held = this.held.slice(this.start.length);
    return true;
  }

  /** Length of the reasoning in all that has passed and a text after it. */
  private reasons(text: string): number {
    return this.parsed(text)?.reasoning.length ?? 0;
  }

  private close(end: string): boolean {
    if (this.apart) this.wasApart = true;
    else this.pass(end);
    this.held = this.held.slice(end.length);
    this.reasoning = false;
    this.apart = false;
    this.said = "";
    return true;
  }

  /** An end of reasoning that has not begun: the model thought although thinking is off. On a line of its own it is not text. */
  private stray(end: string, isLast: boolean): boolean {
    const next = this.held.charAt(end.length);
    if (next === "" && !isLast) return false;
    const isAlone = next === "" || next === "\n" || this.isAtLine();
    const isMarkup = this.calls?.required === true || this.calls?.framed === true;
    if (!isMarkup && (this.reasoned || !isAlone)) return this.asText();
    if (isMarkup) this.pass(end);
    this.reasoned = true;
    this.said = "";
    this.held = this.held.slice(end.length);
    return true;
  }

  /** The markup that the held text begins with is text. */
  private asText(): boolean {
    const mask = MASK_FIRST + this.letters.indexOf(this.held.charAt(0));
    this.pass(this.gap + String.fromCharCode(mask));
    this.gap = "";
    this.held = this.held.slice(1);
    this.state = "free";
    return true;
  }

  private judge(isLast: boolean): boolean {
    const start = this.calls?.judge(this.held) ?? { type: "prose" };
    if (start.type === "open" && !isLast && this.held.length < OPEN_MAX) return false;
    if (start.type !== "call" || (isLast && start.isUnnamed === true)) return this.asText();
    if (this.isQuoting()) {
      this.state = "quoted";
      this.probedTo = 0;
      this.searched = 0;
      return true;
    }
    return this.begun(start.text);
  }

  private isQuoting(): boolean {
    if (this.reasoning) return true;
    return (this.said.match(/^[ \t]*```/gm)?.length ?? 0) % 2 === 1;
  }

  /** Calls begin with the held text, in the words of the format. */
  private begun(text: string): boolean {
    this.held = "";
    this.state = "calls";
    this.out.push({ text: this.gap + text, as: "call" });
    return true;
  }

  /** Whether a quoted call is one, as far as that is known: nothing may follow it but the end of what it stands in, and no text. */
  private settle(isLast: boolean): boolean {
    const { call, after } = this.parted();
    if (!this.saysNothing(after)) return this.asText();
    if (!isLast && call.length - this.probedTo <= call.length >> REPARSE_SHIFT) return false;
    this.probedTo = call.length;
    const text = this.closed(call);
    const message = text === undefined ? undefined : this.parsed(text);
    if (message === undefined || message.content.trim() !== this.parsed("")?.content.trim())
      return this.asText();
    if (!isLast) return false;
    if (text !== undefined && message.toolCalls.length > 0 && (this.cut || message.toolCalls.every(isWhole)))
      return this.begun(text);
    if (!this.cut) return this.asText();
    this.held = "";
    return false;
  }

  /** Whether what follows is blank, or the markup of an answer without text. */
  private saysNothing(after: string): boolean {
    if (after.trim() === "") return true;
    const [end = ""] = this.ends;
    const message = this.reasoning && !this.apart ? this.parsed(end + after) : undefined;
    return message?.toolCalls.length === 0 && message.content.trim() === this.parsed("")?.content.trim();
  }

  /** The held text up to the end of the reasoning or of the code fence, and what follows that. */
  private parted(): { readonly call: string; readonly after: string } {
    const { held, reasoning } = this;
    if (!reasoning && this.calls?.fenced === true) return { call: held, after: "" };
    const from = this.searched;
    const { free, match } = reasoning
      ? new HoldBack(this.ends).push(held.slice(from))
      : upToFence(held.slice(from));
    const at = from + free.length;
    if (match === undefined) this.searched = Math.max(0, held.length - QUOTE_END_MAX);
    return { call: held.slice(0, at), after: match === undefined ? "" : held.slice(at + match.length) };
  }

  /** A quoted call as the parser reads it. */
  private closed(call: string): string | undefined {
    const start = this.calls?.judge(call.trimEnd());
    if (start?.type !== "call") return undefined;
    const [end = ""] = this.ends;
    return this.reasoning && !this.apart ? end + start.text : start.text;
  }

  private pass(text: string): void {
    if (text === "") return;
    const as = this.reasoning && this.apart ? "apart" : "answer";
    if (!this.reasoning) this.said += text;
    this.lastLetter = text.at(-1) ?? "";
    const before = this.out.at(-1);
    if (before?.as === as) this.out[this.out.length - 1] = { text: before.text + text, as };
    else this.out.push({ text, as });
  }
}

/** Text up to a line that ends a code fence, and that line. */
function upToFence(text: string): Pick<Released, "free" | "match"> {
  const found = /\n[ \t]*```[^\n]*/.exec(text);
  return { free: text.slice(0, found?.index), match: found?.[0] };
}

function isWhole({ arguments: args }: ParsedMessage["toolCalls"][number]): boolean {
  try {
    JSON.parse(args);
    return true;
  } catch {
    return false;
  }
}
