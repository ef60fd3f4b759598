// Model output to reasoning, text and tool calls.
//
// llama.cpp's parser knows the markup of every model family, but it reads the whole answer each time. To keep the cost of
// a token independent of the answer's length, the parser is asked only where markup may be: once it shows that new text
// simply lengthens the reasoning or the content, text is passed straight on until a piece of markup turns up.

import { HoldBack } from "./hold-back.ts";
import type { ParsedMessage, RenderedPrompt } from "./backend.ts";

/** What a piece of output adds to the answer. Indexes count the calls of the answer from 0. */
export type OutputDelta =
  | { readonly type: "text"; readonly text: string }
  | { readonly type: "reasoning"; readonly text: string }
  | { readonly type: "tool_call_start"; readonly index: number; readonly id: string; readonly name: string }
  | { readonly type: "tool_call_args"; readonly index: number; readonly delta: string };

type Channel = "text" | "reasoning";

const EMPTY: ParsedMessage = { content: "", reasoning: "", toolCalls: [] };
/** Inside markup, the parser runs again when this share of the region is new: the number of runs grows as its logarithm. */
const REPARSE_SHIFT = 5;

export class OutputParser {
  private readonly prompt: RenderedPrompt;
  private readonly newCallId: () => string;
  private readonly markup: HoldBack;
  private raw = ""; // everything the model wrote
  private plain: Channel | undefined; // where text goes while no markup is open
  private broken = false; // the format was left for good: all that follows is text
  private markerSeen = false;
  private reasoningClosed = false;
  private regionStart = 0; // where in `raw` the present stretch of markup began
  private parsedTo = 0; // length of `raw` at the last look of the parser
  private last: ParsedMessage = EMPTY;
  private contentSent = 0;
  private reasoningSent = 0;
  private argsSent: number[] = []; // [calls] characters of arguments sent
  private space = ""; // white space at the end of plain text: markup may follow, and would swallow it
  private out: OutputDelta[] = [];

  constructor(prompt: RenderedPrompt, newCallId: () => string) {
    this.prompt = prompt;
    this.newCallId = newCallId;
    this.markup = new HoldBack(prompt.format.markup);
    if (prompt.plain) this.plain = "text";
  }

  /** True while the model reasons, as far as is known. */
  get reasoning(): boolean {
    return (
      this.plain === "reasoning" ||
      (this.plain === undefined && this.contentSent === 0 && this.reasoningSent > 0)
    );
  }

  /** True once the answer proper has begun: the model does not reason, or no longer. */
  get answering(): boolean {
    return this.contentSent > 0 || this.reasoningClosed;
  }

  /** True once a tool marker stands in the text outside of reasoning. */
  get toolCallBegan(): boolean {
    return this.markerSeen;
  }

  /** Number of tool calls begun. */
  get toolCalls(): number {
    return this.argsSent.length;
  }

  /** Takes text, returns what it adds to the answer. */
  push(text: string): readonly OutputDelta[] {
    if (text === "") return [];
    this.out = [];
    if (this.prompt.plain || this.broken) {
      this.send("text", text);
      return this.out;
    }
    this.raw += text;
    if (this.plain === undefined) this.parseWhenDue();
    else this.passOn(this.plain, text);
    return this.out;
  }

  /** The answer has ended: returns what is still missing. Text that does not follow the format arrives as content. */
  end(): readonly OutputDelta[] {
    this.out = [];
    if (this.prompt.plain || this.broken) return this.out;
    if (this.plain !== undefined) {
      const rest = this.space + this.markup.flush();
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
    const begun = this.begunCall(message, this.raw);
    if (begun >= 0) this.send("text", this.raw.slice(begun));
    return this.out;
  }

  private passOn(channel: Channel, text: string): void {
    const { free, match, rest } = this.markup.push(text);
    if (match === undefined) {
      const all = this.space + free;
      const solid = all.trimEnd();
      this.space = all.slice(solid.length);
      this.send(channel, solid);
      return;
    }
    // What stands before the match is left to the parser too: a longer piece of markup may begin there.
    this.space = "";
    this.regionStart = this.raw.length - rest.length;
    this.plain = undefined;
    this.parse(false); // only a starting point: what it shows about new text, the next look tells
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

  /** The answer has left the format, and nothing to come can mend that: what has not been read of it is content. */
  private giveUp(): void {
    const readable = (length: number): boolean => this.prompt.parse(this.raw.slice(0, length)) !== undefined;
    const good = last(this.parsedTo, this.raw.length, readable);
    const message =
      good === this.parsedTo ? this.last : (this.prompt.parse(this.raw.slice(0, good)) ?? EMPTY);
    this.sendNew(message);
    let from = this.begunCall(message, this.raw.slice(0, good + 1));
    if (from < 0) from = message.toolCalls.length > 0 ? good : this.readTo(message, good);
    // Text that went out before the parser saw it must not go out twice.
    const ahead = Math.max(0, this.contentSent - message.content.length);
    this.send("text", this.raw.slice(from + ahead));
    this.plain = "text";
    this.broken = true;
  }

  /** Where the last marker of a tool call in `text` begins, whole or cut off, if no call came of it; else -1. */
  private begunCall(message: ParsedMessage, text: string): number {
    const starts = this.prompt.format.toolMarkers.map((marker) => lastStart(text, marker));
    const start = Math.max(...starts, -1);
    if (start < this.regionStart) return -1;
    const before = this.prompt.parse(text.slice(0, start));
    return before !== undefined && sameSize(before, message) ? start : -1;
  }

  /** Length of the shortest beginning of the first `end` characters that says all that `message`, made of them, says. */
  private readTo(message: ParsedMessage, end: number): number {
    const saysLess = (length: number): boolean => {
      const parsed = this.prompt.parse(this.raw.slice(0, length));
      return parsed === undefined || !sameSize(parsed, message);
    };
    return saysLess(0) ? last(0, end, saysLess) + 1 : 0;
  }

  /** Notes where reasoning has ended and a tool call begun. A marker within reasoning is only talked about. */
  private noteStructure(): void {
    const { toolMarkers, thinkingStart, thinkingEnds, startsInReasoning } = this.prompt.format;
    const opened =
      startsInReasoning || (thinkingStart !== "" && this.raw.trimStart().startsWith(thinkingStart));
    const closed = Math.max(...thinkingEnds.map((tag) => this.raw.lastIndexOf(tag)), -1);
    if (opened && closed < 0) return;
    this.reasoningClosed = closed >= 0;
    if (this.markerSeen) return;
    const from = Math.max(this.regionStart, closed);
    this.markerSeen = toolMarkers.some((marker) => this.raw.indexOf(marker, from) >= 0);
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
    this.out.push({ type: channel, text });
  }
}

/** True if `after` is `before` with exactly `added` at its end. */
function lengthened(before: string, after: string, added: string): boolean {
  return after.length === before.length + added.length && after.endsWith(added);
}

/** True if the longer one of two messages, of which one is the beginning of the other, says nothing more. */
function sameSize(a: ParsedMessage, b: ParsedMessage): boolean {
  return (
    a.content.length === b.content.length &&
    a.reasoning.length === b.reasoning.length &&
    a.toolCalls.length === b.toolCalls.length &&
    a.toolCalls.at(-1)?.arguments.length === b.toolCalls.at(-1)?.arguments.length
  );
}

/** The last number in [from, to) for which something holds that holds for `from` and, once it does not, never again. */
function last(from: number, to: number, holds: (value: number) => boolean): number {
  let [yes, no] = [from, to];
  while (no - yes > 1) {
    const middle = (yes + no) >> 1;
    if (holds(middle)) yes = middle;
    else no = middle;
  }
  return yes;
}

/** Where `needle` begins for the last time in `text`, at whose end it may be cut off; -1 if nowhere. */
function lastStart(text: string, needle: string): number {
  for (let n = Math.min(needle.length - 1, text.length); n > 0; n--) {
    if (text.endsWith(needle.slice(0, n))) return text.length - n;
  }
  return text.lastIndexOf(needle);
}
