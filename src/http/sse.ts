// Writes server-sent events, or lines of JSON: frames in, Response out. Pull-based, so a client that reads slowly slows its own run's
// reading and nothing else, and at most one frame waits here. Knows no dialect and no engine.
// The framework's own streams end cleanly with status 200 when their generator throws, and call no error handler.

import { observed } from "./observe.ts";

/** Source of frames. `next` returns complete frames, and undefined after the last; `close` ends it early. */
export interface FrameSource {
  next(): Promise<string | undefined>;
  close(): Promise<void>;
}

export interface SseOptions {
  /** Aborted when the client disconnects; the producer of the frames listens to its signal. */
  readonly abort: AbortController;
  /** A comment is sent when nothing else was for this long, milliseconds; absent: none is, as JSON lines have none. */
  readonly keepAliveMs?: number;
  /** A frame to send with each comment, in a dialect that has one for silence. */
  readonly idleFrame?: string;
}

/** A comment line: clients ignore it, proxies see traffic. */
const KEEP_ALIVE_FRAME = ": keep-alive\n\n";

/** Responds with the frames of a source. The source must turn its own failures into frames. */
export function sseResponse(source: FrameSource, options: SseOptions): Response {
  return streamResponse(source, options, "text/event-stream; charset=utf-8");
}

/** The same for frames that are lines of JSON. `abort` as in SseOptions. */
export function ndjsonResponse(source: FrameSource, abort: AbortController): Response {
  return streamResponse(source, { abort }, "application/x-ndjson");
}

function streamResponse(source: FrameSource, options: SseOptions, contentType: string): Response {
  const encoder = new TextEncoder();
  const keepAlive = new KeepAlive(options.keepAliveMs);
  const seen = observed();
  seen?.streamBegin();
  const keepAliveFrame = encoder.encode(KEEP_ALIVE_FRAME + (options.idleFrame ?? ""));
  let cancelled = false;
  const end = async () => {
    keepAlive.stop();
    seen?.streamEnd(cancelled);
    await source.close();
  };
  const counted = (bytes: Uint8Array): Uint8Array => {
    seen?.streamSent(bytes);
    return bytes;
  };
  const body = new ReadableStream<Uint8Array>({
    start(controller) {
      keepAlive.start(() => {
        // A client that does not read needs no sign of life, and must not make comments pile up.
        if ((controller.desiredSize ?? 0) > 0) controller.enqueue(counted(keepAliveFrame.slice()));
      });
    },
    async pull(controller) {
      try {
        const frame = await source.next();
        if (cancelled) return; // the controller may not be used any more
        if (frame !== undefined) {
          keepAlive.touch();
          controller.enqueue(counted(encoder.encode(frame)));
          return;
        }
      } catch (bug) {
        options.abort.abort(); // the connection breaks off, so nothing may go on producing for it
        await end();
        throw bug;
      }
      seen?.streamEnd(false);
      controller.close();
      await end();
    },
    async cancel() {
      cancelled = true;
      options.abort.abort();
      await end();
    },
  });
  options.abort.signal.addEventListener("abort", () => keepAlive.stop(), { once: true });
  return new Response(body, {
    headers: {
      "content-type": contentType,
      "cache-control": "no-cache",
      "x-accel-buffering": "no", // asks a reverse proxy to pass frames on at once
    },
  });
}

/**
 * Calls back when nothing was sent for a whole interval. A frame only notes the time; the one timer re-arms itself,
 * because setting a timer for every token would cost more than the token.
 */
class KeepAlive {
  private readonly intervalMs: number | undefined;
  private lastMs = 0;
  private timer: ReturnType<typeof setTimeout> | undefined;
  private stopped = false;

  constructor(intervalMs: number | undefined) {
    this.intervalMs = intervalMs;
  }

  start(send: () => void): void {
    this.touch();
    if (this.intervalMs !== undefined) this.arm(send, this.intervalMs, this.intervalMs);
  }

  touch(): void {
    this.lastMs = performance.now();
  }

  stop(): void {
    this.stopped = true;
    clearTimeout(this.timer);
  }

  private arm(send: () => void, intervalMs: number, delayMs: number): void {
    if (this.stopped) return;
    this.timer = setTimeout(() => {
      const leftMs = this.lastMs + intervalMs - performance.now();
      if (leftMs > 0) return this.arm(send, intervalMs, leftMs);
      this.touch();
      send();
      this.arm(send, intervalMs, intervalMs);
    }, delayMs);
  }
}
