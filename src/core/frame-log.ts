// Frames of an answer that outlives its client's connection, so that clients can disconnect and reconnect. Ends with the
// answer. Knows neither HTTP nor dialects.

/** A frame and its number in the stream. */
export interface LoggedFrame {
  readonly sequence: number;
  readonly text: string;
}

/** Source of frames for the SSE writer. */
export interface FrameReader {
  next(): Promise<string | undefined>;
  close(): Promise<void>;
}

/** Append-only log with one writer and any number of readers, each with its own position. */
export class FrameLog {
  private frames: LoggedFrame[] = [];
  /** Frames that were dropped from the front. */
  private dropped = 0;
  private ended = false;
  private changed = Promise.withResolvers<void>();

  /** Whether a new reader would get all frames. */
  get isWhole(): boolean {
    return this.dropped === 0;
  }

  add(frames: readonly LoggedFrame[]): void {
    if (frames.length === 0) return;
    this.frames.push(...frames);
    this.wake();
  }

  /** Ends the log: no more frames follow. */
  end(): void {
    this.ended = true;
    this.wake();
  }

  /** Frees all frames so far. A reader that has not read them ends early; others go on. */
  drop(): void {
    this.dropped += this.frames.length;
    this.frames = [];
    this.wake();
  }

  /** Reader of the frames after this sequence number; −1 reads all. */
  reader(after: number): FrameReader {
    let position = 0;
    let closed = false;
    return {
      next: async () => {
        for (;;) {
          if (closed || position < this.dropped) return undefined;
          const frame = this.frames[position - this.dropped];
          if (frame !== undefined) {
            position++;
            if (frame.sequence > after) return frame.text;
          } else if (this.ended) return undefined;
          else await this.changed.promise;
        }
      },
      close: async () => {
        closed = true;
        this.wake();
      },
    };
  }

  private wake(): void {
    this.changed.resolve();
    this.changed = Promise.withResolvers();
  }
}
