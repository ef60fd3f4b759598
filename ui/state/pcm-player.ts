// Plays a stream of PCM chunks without gaps.

/** Delay before the first chunk is played, so that the next one can arrive in time. Seconds. */
const LEAD_SECS = 0.08;
const BYTES_PER_SAMPLE = 2;

export class PcmPlayer {
  private readonly context = new AudioContext();
  /** End of the scheduled audio, on the context's clock. */
  private endSecs = 0;
  private secs = 0;
  private last: AudioBufferSourceNode | undefined;
  /** First byte of a sample that is split between two chunks. */
  private half: number | undefined;
  private isClosed = false;
  private readonly closed = Promise.withResolvers<void>();

  /** Schedules 16-bit little-endian samples; returns the length of all audio so far, seconds. */
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

  /** Resolves when all scheduled audio was played or the player was closed. */
  async ended(): Promise<void> {
    const { last, context } = this;
    if (last === undefined || this.isClosed || this.endSecs <= context.currentTime) return;
    const played = new Promise<void>((resolve) => last.addEventListener("ended", () => resolve()));
    await Promise.race([played, this.closed.promise]);
  }

  /** Stops the audio at once. */
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
