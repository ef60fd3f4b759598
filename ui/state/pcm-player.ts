// Plays samples as they come, each chunk right after the one before.

/** Time between the arrival of the first chunk and its sound: the next one has it to arrive. Seconds. */
const LEAD_SECS = 0.08;
const BYTES_PER_SAMPLE = 2;

export class PcmPlayer {
  private readonly context = new AudioContext();
  /** When what has come ends, on the context's clock. */
  private endSecs = 0;
  private secs = 0;
  private last: AudioBufferSourceNode | undefined;
  /** The first byte of a sample whose second one is in the next chunk. */
  private half: number | undefined;
  private isClosed = false;
  private readonly closed = Promise.withResolvers<void>();

  /** Adds 16-bit samples, least byte first; returns how many seconds have come so far. */
  push(chunk: Uint8Array<ArrayBuffer>, rate: number): number {
    const samples = this.samplesOf(chunk);
    if (samples.length === 0 || this.isClosed) return this.secs;
    const { context } = this;
    const buffer = new AudioBuffer({ length: samples.length, numberOfChannels: 1, sampleRate: rate });
    buffer.copyToChannel(samples, 0);
    const source = new AudioBufferSourceNode(context, { buffer });
    source.connect(context.destination);
    this.endSecs = Math.max(this.endSecs, context.currentTime + LEAD_SECS);
    source.start(this.endSecs);
    this.endSecs += buffer.duration;
    this.secs += buffer.duration;
    this.last = source;
    return this.secs;
  }

  /** Resolves when all that has come was heard, or the player was closed. */
  async ended(): Promise<void> {
    const { last, context } = this;
    if (last === undefined || this.isClosed || this.endSecs <= context.currentTime) return;
    const heard = new Promise<void>((resolve) => last.addEventListener("ended", () => resolve()));
    await Promise.race([heard, this.closed.promise]);
  }

  /** Silence at once. */
  close(): void {
    if (this.isClosed) return;
    this.isClosed = true;
    this.closed.resolve();
    void this.context.close();
  }

  private samplesOf(chunk: Uint8Array<ArrayBuffer>): Float32Array<ArrayBuffer> {
    const bytes = this.half === undefined ? chunk : new Uint8Array([this.half, ...chunk]);
    const count = Math.floor(bytes.length / BYTES_PER_SAMPLE);
    this.half = bytes.length % BYTES_PER_SAMPLE === 0 ? undefined : bytes.at(-1);
    const view = new DataView(bytes.buffer, bytes.byteOffset);
    return Float32Array.from(
      { length: count },
      (_, at) => view.getInt16(at * BYTES_PER_SAMPLE, true) / 32_768,
    );
  }
}
