// Reads server-sent events: the `data` of each event as it arrives. Other fields are not read; chat completions have none.

import { EVENT_CHARS_MAX } from "./limits.ts";

const NEWLINE = 10;

/** An upstream broke the format or a bound. */
export class StreamError extends Error {}

/** Incremental parser. */
export class EventReader {
  private readonly decoder = new TextDecoder();
  /** Decodes bytes that begin and end with a character, in a third of the time. */
  private readonly wholeDecoder = new TextDecoder("utf-8", { ignoreBOM: true });
  private isWhole = false; // the bytes so far ended with a line
  private rest = ""; // of a line
  private data: string[] = []; // of the event under way
  private size = 0;
  private isDocument: boolean | undefined; // the body is a JSON document; undefined before its first character

  /** Data of the events that these bytes complete. Throws StreamError for an event that is too large. */
  push(bytes: Uint8Array): readonly string[] {
    if (this.isDocument === false && !bytes.includes(NEWLINE))
      return this.hold(this.rest + this.decode(bytes));
    const text = this.rest + this.decode(bytes);
    this.isDocument ??= text.trim() === "" ? undefined : text.trimStart().startsWith("{");
    const events: string[] = [];
    if (this.isDocument === true) return this.hold(text);
    let from = 0;
    for (let at = text.indexOf("\n"); at >= 0; at = text.indexOf("\n", from)) {
      const end = at > from && text.charCodeAt(at - 1) === 13 ? at - 1 : at;
      this.line(text.slice(from, end), events);
      from = at + 1;
    }
    this.hold(text.slice(from));
    return events;
  }

  /** Keeps a line that goes on, or the document. It is not searched again: pieces may be small. */
  private hold(rest: string): readonly string[] {
    this.rest = rest;
    if (this.size + rest.length > EVENT_CHARS_MAX) throw new StreamError("an event is too large");
    return [];
  }

  /** What the body ended with: an event without an empty line after it, or the document of a server that does not stream. */
  end(): readonly string[] {
    const { rest } = this;
    this.rest = "";
    if (this.isDocument === true) return [rest];
    const events: string[] = [];
    this.line(rest, events);
    this.line("", events);
    return events;
  }

  private decode(bytes: Uint8Array): string {
    const wasWhole = this.isWhole;
    this.isWhole = bytes.at(-1) === NEWLINE;
    return wasWhole && this.isWhole
      ? this.wholeDecoder.decode(bytes)
      : this.decoder.decode(bytes, { stream: true });
  }

  private line(line: string, events: string[]): void {
    if (line === "") {
      if (this.data.length > 0)
        events.push(this.data.length === 1 ? (this.data[0] ?? "") : this.data.join("\n"));
      this.data = [];
      this.size = 0;
    } else if (line.startsWith("data:")) {
      const data = line.slice(line.charCodeAt(5) === 32 ? 6 : 5);
      this.data.push(data);
      this.size += data.length;
    }
  }
}
