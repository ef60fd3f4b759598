// Reads one line of a handshake from a socket and leaves what follows to the next reader.

import type { Socket } from "node:net";
import { HANDSHAKE_MS, LINE_BYTES_MAX } from "./limits.ts";

const NEWLINE = 10;

/**
 * The next line, without its end. The socket is paused afterwards. Rejects with an Error when the line is too long or late,
 * or the connection ends before it.
 */
export function readLine(socket: Socket): Promise<string> {
  return new Promise((resolve, reject) => {
    let held = Buffer.alloc(0);
    const done = (settle: () => void): void => {
      clearTimeout(timer);
      socket.off("data", onData).off("error", onError).off("close", onClose);
      socket.pause();
      settle();
    };
    const fail = (reason: string): void => done(() => reject(new Error(reason)));
    const onData = (bytes: Buffer): void => {
      held = Buffer.concat([held, bytes]);
      const end = held.indexOf(NEWLINE);
      if (end < 0 && held.length <= LINE_BYTES_MAX) return;
      if (end < 0 || end > LINE_BYTES_MAX) return fail("it does not speak svc's protocol");
      const rest = held.subarray(end + 1);
      done(() => {
        if (rest.length > 0) socket.unshift(rest);
        resolve(held.subarray(0, end).toString("utf8"));
      });
    };
    const onError = (error: Error): void => fail(error.message);
    const onClose = (): void => fail("the connection was closed");
    const timer = setTimeout(() => fail(`no answer within ${HANDSHAKE_MS} ms`), HANDSHAKE_MS);
    socket.on("data", onData).on("error", onError).on("close", onClose).resume();
  });
}

/** Connects two sockets in both directions; the end of one ends the other. `onEnd` gets the one that ended first. */
export function join(a: Socket, b: Socket, onEnd: (first: Socket) => void = () => {}): void {
  let isOpen = true;
  const end = (first: Socket): void => {
    if (!isOpen) return;
    isOpen = false;
    onEnd(first);
    a.destroy();
    b.destroy();
  };
  for (const socket of [a, b]) {
    socket.setNoDelay(true);
    socket.on("error", () => end(socket)).on("close", () => end(socket));
  }
  a.pipe(b);
  b.pipe(a);
  for (const socket of [a, b]) if (socket.destroyed) end(socket); // it ended before anything listened
}
