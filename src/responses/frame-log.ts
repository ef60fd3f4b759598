// All frames of a background response, so that clients may come, go and come back. Ends with the response.

import type { NumberedFrame } from "../dialects/responses/stream.ts";

/** A reader of frames, as the SSE writer wants it. */
export interface FrameReader {
  next(): Promise<string | undefined>;
  close(): Promise<void>;
}

/** Written by one, read by any number, each at its own pace. */
export class FrameLog {
  private readonly frames: NumberedFrame[] = [];
  private ended = false;
  private news = Promise.withResolvers<void>();

  add(frames: readonly NumberedFrame[]): void {
    if (frames.length === 0) return;
    this.frames.push(...frames);
    this.wake();
  }

  /** No more will come. */
  end(): void {
    this.ended = true;
    this.wake();
  }

  /** Reads from the event after the one with this sequence number; −1 reads all. */
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
          else await this.news.promise;
        }
      },
      close: async () => {
        closed = true;
      },
    };
  }

  private wake(): void {
    this.news.resolve();
    this.news = Promise.withResolvers();
  }
}
