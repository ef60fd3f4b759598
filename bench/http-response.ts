// Incremental HTTP/1.1 response parser for chunked and Content-Length bodies only. Input is text with one character per byte.
// Pure; http-stream.ts feeds it.

type State = "headers" | "length" | "chunk" | "chunk-end" | "trailer" | "body" | "end";

/** Parser of one response. `push` passes on body text and returns whether the response is complete. */
export class ResponseParser {
  /** 0 until the headers are complete. */
  status = 0;
  private state: State = "headers";
  private rest = "";
  /** Characters of the current chunk or body still to come. */
  private left = 0;
  private readonly onBody: (text: string) => void;

  constructor(onBody: (text: string) => void) {
    this.onBody = onBody;
  }

  /** Throws on a body of unknown length. */
  push(piece: string): boolean {
    const text = this.rest === "" ? piece : this.rest + piece;
    let at = 0;
    while (this.state !== "end") {
      const next = this.step(text, at);
      if (next < 0) break; // needs more input
      at = next;
    }
    this.rest = text.slice(at);
    return this.state === "end";
  }

  /** Consumes one element of `text` at `at`; returns where the next one starts, or -1 when it is not complete yet. */
  private step(text: string, at: number): number {
    switch (this.state) {
      case "headers": {
        const end = text.indexOf("\r\n\r\n", at);
        if (end < 0) return -1;
        this.readHeaders(text.slice(at, end).toLowerCase());
        return end + 4;
      }
      case "length":
      case "trailer": {
        const end = text.indexOf("\r\n", at);
        if (end < 0) return -1;
        if (this.state === "length") this.startChunk(Number.parseInt(text.slice(at, end), 16));
        else if (end === at) this.state = "end"; // an empty line ends the trailer
        return end + 2;
      }
      case "chunk-end":
        if (text.length < at + 2) return -1;
        this.state = "length";
        return at + 2;
      case "chunk":
      case "body":
        return this.takeBody(text, at);
      case "end":
        return -1; // ignore data after the response
    }
  }

  private readHeaders(headers: string): void {
    this.status = Number(headers.slice(9, 12));
    const length = /\r\ncontent-length: *(\d+)/.exec(headers)?.[1];
    if (headers.includes("\r\ntransfer-encoding: chunked")) {
      this.state = "length";
    } else if (length !== undefined) {
      this.left = Number(length);
      this.state = this.left === 0 ? "end" : "body";
    } else {
      throw new Error("the response has neither Content-Length nor chunked encoding");
    }
  }

  private startChunk(length: number): void {
    this.left = length;
    this.state = length === 0 ? "trailer" : "chunk";
  }

  private takeBody(text: string, at: number): number {
    const taken = Math.min(this.left, text.length - at);
    if (taken === 0) return -1;
    this.onBody(text.slice(at, at + taken));
    this.left -= taken;
    if (this.left === 0) this.state = this.state === "chunk" ? "chunk-end" : "end";
    return at + taken;
  }
}
