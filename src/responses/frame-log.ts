// All frames of a background response, so that clients can disconnect and reconnect. Ends with the response.

import type { NumberedFrame } from "../dialects/responses/stream.ts";

/** Source of frames for the SSE writer. */
export interface FrameReader {
  next(): Promise<string | undefined>;
  close(): Promise<void>;
}

/** Append-only log with one writer and any number of readers, each with its own position. */
export class FrameLog {
  private readonly frames: NumberedFrame[] = [];
  private ended = false;
  private changed = Promise.withResolvers<void>();

  add(frames: readonly NumberedFrame[]): void {
    if (frames.length === 0) return;
    this.frames.push(...frames);
    this.wake();
  }

  /** Ends the log: no more frames follow. */
  end(): void {
    this.ended = true;
    this.wake();
  }

  /** Reader of the frames after this sequence number; −1 reads all. */
  reader(after: number): FrameReader {
    let position = 0;
    let closed = false;
    return {
      next: async () => {
        for (;;) {
          if (closed) return undefined;
          const frame = this.frames[position];
          if (frame !== undefined) {
            position++;
            if (frame.sequence > after) return frame.text;
          } else if (this.ended) return undefined;
          else await this.changed.promise;
        }
      },
      close: async () => {
        closed = true;
      },
    };
  }

  private wake(): void {
    this.changed.resolve();
    this.changed = Promise.withResolvers();
  }
}
