// Collects what a process writes, up to a size. The beginning is kept: that is where the reason for the rest stands.

export class Output {
  private readonly bytesMax: number;
  private parts: Uint8Array[] = [];
  private bytes = 0;
  private dropped = 0;
  /** Bytes that may be the beginning of the mark. */
  private carry: Buffer = Buffer.alloc(0);
  private mark: Buffer | undefined;
  private onMark: (() => void) | undefined;

  constructor(bytesMax: number) {
    this.bytesMax = bytesMax;
  }

  /** Takes in everything that comes; ends with the stream. */
  async drain(stream: AsyncIterable<Uint8Array>): Promise<void> {
    try {
      for await (const chunk of stream) this.feed(Buffer.from(chunk));
    } catch {
      // a pipe that breaks has ended
    }
    this.settle();
  }

  /** Resolves when the mark has come, which is left out, or nothing more will. To be called before it is asked for. */
  untilMark(mark: string): Promise<void> {
    this.mark = Buffer.from(mark);
    return new Promise((resolve) => {
      this.onMark = resolve;
    });
  }

  /** What has come since the last time, as text. */
  take(): string {
    this.mark = undefined;
    this.keep(this.carry);
    this.carry = Buffer.alloc(0);
    const text = new TextDecoder().decode(Buffer.concat(this.parts));
    const note = this.dropped === 0 ? "" : `\n[${this.dropped} more bytes]`;
    this.parts = [];
    this.bytes = 0;
    this.dropped = 0;
    return text + note;
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
      return this.keep(data.subarray(at + mark.byteLength)); // of something that goes on in the background
    }
    const carried = Math.min(data.byteLength, mark.byteLength - 1);
    this.keep(data.subarray(0, data.byteLength - carried));
    this.carry = data.subarray(data.byteLength - carried);
  }

  private settle(): void {
    this.mark = undefined;
    this.onMark?.();
    this.onMark = undefined;
  }

  private keep(chunk: Uint8Array): void {
    const part = chunk.subarray(0, this.bytesMax - this.bytes);
    this.bytes += part.byteLength;
    this.dropped += chunk.byteLength - part.byteLength;
    if (part.byteLength > 0) this.parts.push(part);
  }
}
