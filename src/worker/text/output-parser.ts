// Parses model output into reasoning, text and tool calls.
//
// llama.cpp's parser knows the markup of every model family, but parses the whole answer each time. To keep the cost of a
// token independent of the answer's length, it runs only where markup may be: once new text only extends the reasoning or
// the content, text is passed on unparsed until the next markup.

import { CallGate, type Passed } from "./call-gate.ts";
import { HoldBack } from "./hold-back.ts";
import type { ParsedMessage, RenderedPrompt } from "./backend.ts";

/** What new output adds to the answer. Indexes count the answer's tool calls from 0. */
export type OutputDelta =
  | { readonly type: "text"; readonly text: string }
  | { readonly type: "reasoning"; readonly text: string }
  | { readonly type: "tool_call_start"; readonly index: number; readonly id: string; readonly name: string }
  | { readonly type: "tool_call_args"; readonly index: number; readonly delta: string };

type Channel = "text" | "reasoning";

const EMPTY: ParsedMessage = { content: "", reasoning: "", toolCalls: [] };
/** Within markup, the parser runs when 1/2^n of the region is new: the number of runs grows with the region's logarithm. */
const REPARSE_SHIFT = 5;

export class OutputParser {
  private readonly prompt: RenderedPrompt;
  private readonly newCallId: () => string;
  private readonly markup: HoldBack;
  private readonly gate: CallGate;
  private raw = ""; // what the gate has passed
  private plain: Channel | undefined; // channel of text while no markup is open
  private broken = false; // the answer has left the format: all later text is content
  private markerAt = -1; // position of the marker of the first call
  private reasoningClosed = false;
  private regionStart = 0; // start of the current markup in `raw`
  private parsedTo = 0; // length of `raw` at the last parse
  private last: ParsedMessage = EMPTY;
  private contentSent = 0;
  private reasoningSent = 0;
  private argsSent: number[] = []; // [calls] characters of arguments sent
  private space = ""; // white space at the end of plain text: markup that follows would absorb it
  private out: OutputDelta[] = [];

  constructor(prompt: RenderedPrompt, newCallId: () => string) {
    this.prompt = prompt;
    this.newCallId = newCallId;
    this.markup = new HoldBack(prompt.format.markup);
    this.gate = new CallGate(prompt.format, (text) => prompt.parse(this.raw + text));
    if (prompt.plain) this.plain = "text";
  }

  /** Whether the model is reasoning, from the opening tag on. */
  get inReasoning(): boolean {
    return this.gate.inReasoning;
  }

  /** Whether no text is held back that may be markup, such as a call that may be a quotation. */
  get isSettled(): boolean {
    return this.gate.isSettled;
  }

  /** Whether the content of the answer has begun, after any reasoning. */
  get answering(): boolean {
    return this.contentSent > 0 || this.reasoningClosed || this.gate.hasReasoned;
  }

  /** The text from the marker of the first call on; undefined before it. */
  get callText(): string | undefined {
    return this.markerAt < 0 ? undefined : this.raw.slice(this.markerAt);
  }

  /** Number of tool calls begun. */
  get toolCalls(): number {
    return this.argsSent.length;
  }

  /** Adds text; returns what it adds to the answer. */
  push(text: string): readonly OutputDelta[] {
    if (text === "") return [];
    this.out = [];
    if (this.prompt.plain) {
      this.send("text", text);
      return this.out;
    }
    for (const passed of this.gate.push(text)) this.take(passed);
    return this.out;
  }

  /**
   * The answer has ended: returns the rest. `cut`: before the model ended it; markup that has only begun is left out. Otherwise,
   * text outside the format becomes content.
   */
  end(cut = false): readonly OutputDelta[] {
    this.out = [];
    if (this.prompt.plain) return this.out;
    for (const passed of this.gate.end(cut)) this.take(passed);
    if (this.broken) {
      this.send("text", this.space);
      return this.out;
    }
    if (this.plain !== undefined) {
      const held = this.markup.flush();
      const rest = this.space + (cut && held.length > 1 ? "" : held);
      this.space = "";
      this.send(this.plain, rest);
      if (this.prompt.format.toolMarkers.length > 0 || this.raw === "") return this.out;
    }
    const message = this.prompt.parse(this.raw);
    if (message === undefined) {
      this.giveUp();
      return this.out;
    }
    this.sendNew(message);
    if (this.plain === undefined && !cut) this.sendCutOff(message);
    return this.out;
  }

  private take({ text, as }: Passed): void {
    if (as === "call") return this.begin(text);
    if (as === "apart") return this.send("reasoning", text);
    if (this.broken) return this.sendSolid("text", text);
    this.raw += text;
    if (this.plain === undefined) this.parseWhenDue();
    else this.passOn(this.plain, text);
  }

  /** A call begins. */
  private begin(text: string): void {
    const { toolMarkers } = this.prompt.format;
    if (this.broken || this.prompt.parse(this.raw + text) === undefined) this.startOver(text);
    if (this.broken) return this.sendSolid("text", text);
    this.regionStart = this.raw.length;
    this.raw += text;
    const found = toolMarkers.map((marker) => this.raw.indexOf(marker, this.regionStart));
    const [first = this.regionStart] = found.filter((at) => at >= 0).toSorted((a, b) => a - b);
    this.markerAt = first;
    this.plain = undefined;
    this.space = "";
    this.markup.flush();
    this.parse(false);
  }

  private sayAll(): void {
    const message = this.prompt.parse(this.raw);
    if (message === undefined) this.giveUp();
    else this.sendNew(message);
  }

  /** Formats that take no text before calls: the answer begins with the calls, what came before them has been said. */
  private startOver(calls: string): void {
    const { startsInReasoning, thinkingEnds } = this.prompt.format;
    const before = startsInReasoning ? (thinkingEnds[0] ?? "") : "";
    if (this.prompt.parse(before + calls) === undefined) return;
    if (this.plain !== undefined && !this.broken) this.send(this.plain, this.markup.flush());
    else if (!this.broken) this.sayAll();
    this.broken = false;
    this.raw = before;
    this.parsedTo = 0;
    this.contentSent = 0;
    this.reasoningSent = 0;
    this.last = EMPTY;
  }

  private passOn(channel: Channel, text: string): void {
    const { free, match, rest } = this.markup.push(text);
    if (match === undefined) {
      this.sendSolid(channel, free);
      return;
    }
    // Text before the match goes to the parser, too: longer markup may begin there.
    this.space = "";
    this.regionStart = this.raw.length - rest.length;
    this.plain = undefined;
    this.parse(false); // a baseline: the next parse shows where new text goes
  }

  /** Sends text without the white space at its end. */
  private sendSolid(channel: Channel, text: string): void {
    const all = this.space + text;
    const solid = all.trimEnd();
    this.space = all.slice(solid.length);
    this.send(channel, solid);
  }

  private parseWhenDue(): void {
    const region = this.raw.length - this.regionStart;
    if (this.raw.length - this.parsedTo > region >> REPARSE_SHIFT) this.parse();
  }

  private parse(judge = true): void {
    this.noteStructure();
    const message = this.prompt.parse(this.raw);
    if (message === undefined) return this.giveUp();
    const added = this.raw.slice(this.parsedTo);
    const before = this.last;
    this.last = message;
    this.parsedTo = this.raw.length;
    this.sendNew(message);
    if (!judge || message.toolCalls.length > 0) return;
    if (lengthened(before.reasoning, message.reasoning, added) && message.content === before.content) {
      this.plain = "reasoning";
    } else if (lengthened(before.content, message.content, added) && message.reasoning === before.reasoning) {
      this.plain = "text";
    }
  }

  /** The answer has left the format: text that was not parsed yet becomes content. */
  private giveUp(): void {
    const readable = (length: number): boolean => this.prompt.parse(this.raw.slice(0, length)) !== undefined;
    const good = last(this.parsedTo, this.raw.length, readable);
    const message =
      good === this.parsedTo ? this.last : (this.prompt.parse(this.raw.slice(0, good)) ?? EMPTY);
    this.sendNew(message);
    let from = this.unread(message, this.raw.slice(0, good), this.prompt.format.toolMarkers);
    if (from < 0) from = message.toolCalls.length > 0 ? good : this.readTo(message, good);
    this.sendRaw("text", from, this.prompt.parse(this.raw.slice(0, from)) ?? EMPTY);
    this.plain = "text";
    this.broken = true;
  }

  /** Sends text at the end of the answer that was held because it could have become markup. */
  private sendCutOff(message: ParsedMessage): void {
    const { toolMarkers, markup } = this.prompt.format;
    // After a call, only markup follows.
    const from = this.unread(message, this.raw, message.toolCalls.length > 0 ? toolMarkers : markup);
    if (from < 0) return;
    const before = this.prompt.parse(this.raw.slice(0, from)) ?? EMPTY;
    const more = this.prompt.parse(`${this.raw.slice(0, from)}x`) ?? EMPTY;
    this.sendRaw(more.reasoning.length > before.reasoning.length ? "reasoning" : "text", from, before);
  }

  /** Sends the raw answer from `from` on; `before` is the message up to there. */
  private sendRaw(channel: Channel, from: number, before: ParsedMessage): void {
    this.sendNew(before); // white space that markup would have absorbed
    // Text that was sent before it was parsed must not be sent twice.
    const ahead =
      channel === "text"
        ? this.contentSent - before.content.length
        : this.reasoningSent - before.reasoning.length;
    this.send(channel, this.raw.slice(from + Math.max(0, ahead)));
  }

  /**
   * Start of the first tag in `text` that did not contribute to `message`, the result of parsing `text`: a tag cut off at
   * the end of the text, or a whole tool marker. -1 without one.
   */
  private unread(message: ParsedMessage, text: string, tags: readonly string[]): number {
    const { toolMarkers } = this.prompt.format;
    const starts = [
      ...tags.map((tag) => cutOff(text, tag)),
      ...toolMarkers.map((tag) => text.lastIndexOf(tag)),
    ];
    const isUnread = (start: number): boolean => {
      if (start < this.regionStart) return false;
      const before = this.prompt.parse(text.slice(0, start));
      return before !== undefined && sameSize(before, message);
    };
    return [...new Set(starts)].sort((a, b) => a - b).find(isUnread) ?? -1;
  }

  /** Length of the shortest prefix of the first `end` characters that parses to as much as `message`. */
  private readTo(message: ParsedMessage, end: number): number {
    const saysLess = (length: number): boolean => {
      const parsed = this.prompt.parse(this.raw.slice(0, length));
      return parsed === undefined || !sameSize(parsed, message);
    };
    return saysLess(0) ? last(0, end, saysLess) + 1 : 0;
  }

  /** Finds the end of reasoning. */
  private noteStructure(): void {
    const { thinkingStart, thinkingEnds, startsInReasoning } = this.prompt.format;
    const start = thinkingStart.trimStart();
    const opened = startsInReasoning || (start !== "" && this.raw.trimStart().startsWith(start));
    const closed = Math.max(...thinkingEnds.map((tag) => this.raw.lastIndexOf(tag)), -1);
    if (opened && closed < 0) return;
    this.reasoningClosed = closed >= 0;
  }

  private sendNew(message: ParsedMessage): void {
    this.send("reasoning", message.reasoning.slice(this.reasoningSent));
    this.send("text", message.content.slice(this.contentSent));
    message.toolCalls.forEach((call, index) => this.sendCall(index, call));
  }

  private sendCall(index: number, call: ParsedMessage["toolCalls"][number]): void {
    if (call.name === "") return;
    let sent = this.argsSent[index];
    if (sent === undefined) {
      sent = this.argsSent[index] = 0;
      this.out.push({
        type: "tool_call_start",
        index,
        id: call.id === "" ? this.newCallId() : call.id,
        name: call.name,
      });
    }
    if (call.arguments.length > sent) {
      this.out.push({ type: "tool_call_args", index, delta: call.arguments.slice(sent) });
      this.argsSent[index] = call.arguments.length;
    }
  }

  private send(channel: Channel, text: string): void {
    if (text === "") return;
    if (channel === "text") this.contentSent += text.length;
    else this.reasoningSent += text.length;
    this.out.push({ type: channel, text: this.gate.unmasked(text) });
  }
}

/** True if `after` is `before` with exactly `added` at its end. */
function lengthened(before: string, after: string, added: string): boolean {
  return after.length === before.length + added.length && after.endsWith(added);
}

/** True if the longer one of two messages, of which one is the beginning of the other, says nothing more. */
function sameSize(a: ParsedMessage, b: ParsedMessage): boolean {
  return (
    a.content.trimEnd().length === b.content.trimEnd().length &&
    a.reasoning.trimEnd().length === b.reasoning.trimEnd().length &&
    a.toolCalls.length === b.toolCalls.length &&
    a.toolCalls.at(-1)?.arguments.length === b.toolCalls.at(-1)?.arguments.length
  );
}

/** Binary search: the last number in [from, to) for which `holds`, which is true at `from` and false from some number on. */
function last(from: number, to: number, holds: (value: number) => boolean): number {
  let [yes, no] = [from, to];
  while (no - yes > 1) {
    const middle = (yes + no) >> 1;
    if (holds(middle)) yes = middle;
    else no = middle;
  }
  return yes;
}

/** Start of the longest suffix of `text` that is a proper prefix of `tag`; -1 without one. */
function cutOff(text: string, tag: string): number {
  for (let n = Math.min(tag.length - 1, text.length); n > 0; n--) {
    if (text.endsWith(tag.slice(0, n))) return text.length - n;
  }
  return -1;
}
