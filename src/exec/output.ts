// Collects the output of a process up to a size: head and tail are kept, the middle is dropped. Backpressure slows a process down
// that writes more.

import { OUTPUT_PAUSE_MS } from "./limits.ts";
import { leftOut } from "../core/shorten.ts";

export class Output {
  private readonly headMax: number;
  private readonly tailMax: number;
  private head: Buffer[] = [];
  private headBytes = 0;
  private tail: Buffer[] = [];
  private tailBytes = 0;
  private dropped = 0;
  /** Bytes that may begin the mark. */
  private carry: Buffer = Buffer.alloc(0);
  private mark: Buffer | undefined;
  private onMark: (() => void) | undefined;

  constructor(bytesMax: number) {
    this.headMax = Math.ceil(bytesMax / 2);
    this.tailMax = Math.floor(bytesMax / 2);
  }

  /** Reads until the stream ends. */
  async drain(stream: AsyncIterable<Uint8Array>): Promise<void> {
    try {
      for await (const chunk of stream) {
        this.feed(Buffer.from(chunk.buffer, chunk.byteOffset, chunk.byteLength));
        if (this.dropped > 0) await Bun.sleep(OUTPUT_PAUSE_MS);
      }
    } catch {
      // a broken pipe is an end
    }
    this.settle();
  }

  /** Resolves at the mark, which is removed from the output, or at the end. Call it before the mark is requested. */
  untilMark(mark: string): Promise<void> {
    this.mark = Buffer.from(mark);
    return new Promise((resolve) => {
      this.onMark = resolve;
    });
  }

  /** Output since the last call, as text. */
  take(): string {
    this.mark = undefined;
    this.keep(this.carry);
    this.carry = Buffer.alloc(0);
    const { dropped } = this;
    const head = Buffer.concat(this.head);
    const tail = Buffer.concat(this.tail);
    this.head = [];
    this.tail = [];
    this.headBytes = this.tailBytes = this.dropped = 0;
    if (dropped === 0) return new TextDecoder().decode(Buffer.concat([head, tail]));
    // Partial characters at the cut are dropped.
    const begins = new TextDecoder().decode(head, { stream: true });
    return begins + leftOut(dropped) + new TextDecoder().decode(tail.subarray(continuationBytes(tail)));
  }

  private feed(chunk: Buffer): void {
    const { mark } = this;
    if (mark === undefined) return this.keep(chunk);
    const data = Buffer.concat([this.carry, chunk]);
    const at = data.indexOf(mark);
    if (at >= 0) {
      this.keep(data.subarray(0, at));
      this.carry = Buffer.alloc(0);
      this.settle();
      return this.keep(data.subarray(at + mark.byteLength)); // output of background processes
    }
    const carried = Math.min(data.byteLength, mark.byteLength - 1);
    this.keep(data.subarray(0, data.byteLength - carried));
    this.carry = Buffer.from(data.subarray(data.byteLength - carried));
  }

  private settle(): void {
    this.mark = undefined;
    this.onMark?.();
    this.onMark = undefined;
  }

  private keep(chunk: Buffer): void {
    const first = chunk.subarray(0, this.headMax - this.headBytes);
    if (first.byteLength > 0) this.head.push(Buffer.from(first)); // a copy: a slice would keep the whole chunk in memory
    this.headBytes += first.byteLength;
    const rest = chunk.subarray(first.byteLength);
    if (rest.byteLength > 0) this.keepLast(rest);
  }

  private keepLast(rest: Buffer): void {
    this.tail.push(Buffer.from(rest.subarray(Math.max(0, rest.byteLength - this.tailMax))));
    this.tailBytes += rest.byteLength;
    this.dropped += Math.max(0, rest.byteLength - this.tailMax);
    this.tailBytes -= Math.max(0, rest.byteLength - this.tailMax);
    for (let over = this.tailBytes - this.tailMax; over > 0; over = this.tailBytes - this.tailMax) {
      const [oldest = rest] = this.tail;
      const gone = Math.min(over, oldest.byteLength);
      if (gone === oldest.byteLength) this.tail.shift();
      else this.tail[0] = oldest.subarray(gone);
      this.tailBytes -= gone;
      this.dropped += gone;
    }
  }
}

/** Number of leading UTF-8 continuation bytes. */
function continuationBytes(bytes: Buffer): number {
  let count = 0;
  while (count < 3 && ((bytes[count] ?? 0) & 0xc0) === 0x80) count++;
  return count;
}
