// Posts a request and streams the answer, over a bare socket. Why not fetch: the client shares the processor with the
// server it measures, and fetch's body streams took it a third (32 streams, 29,000 tokens/s) to two thirds (8 streams)
// more processor time per token. One connection a request: llama-server closes the connection after each streamed answer
// whatever its headers say, so reuse would only make the two servers' requests differ.

import type { Socket } from "bun";
import { ResponseParser } from "./http-response.ts";

const HOST = "127.0.0.1";

/** The connection ended before the answer did; `answered` says whether any byte of the answer had come. */
export class ConnectionLost extends Error {
  readonly answered: boolean;

  constructor(answered: boolean) {
    super("the server closed the connection before the answer ended");
    this.answered = answered;
  }
}

/**
 * Posts a JSON body to this machine's `port` and hands the answer's body on as it arrives, one character a byte. Resolves
 * to the HTTP status when the answer is complete. Rejects with ConnectionLost when the server closes too early, or with
 * the connect error.
 */
export function postStream(
  port: number,
  path: string,
  json: string,
  onBody: (text: string) => void,
): Promise<number> {
  const body = Buffer.from(json);
  const head =
    `POST ${path} HTTP/1.1\r\nHost: ${HOST}:${port}\r\nContent-Type: application/json\r\n` +
    `Accept: text/event-stream\r\nContent-Length: ${body.byteLength}\r\n\r\n`;
  let unsent: Uint8Array = Buffer.concat([Buffer.from(head), body]);
  const send = (socket: Socket): void => {
    const taken = socket.write(unsent);
    unsent = unsent.subarray(Math.max(0, taken)); // the rest goes out on `drain`
  };
  const parser = new ResponseParser(onBody);
  let answered = false;
  return new Promise<number>((resolve, reject) => {
    const receive = (socket: Socket, bytes: Buffer): void => {
      answered = true;
      try {
        if (!parser.push(bytes.toString("latin1"))) return;
        resolve(parser.status);
      } catch (error) {
        reject(error);
      }
      socket.end();
    };
    // After `resolve`, the reject of the close that follows has no effect.
    const lost = (): void => reject(new ConnectionLost(answered));
    const socket = {
      open(opened: Socket): void {
        opened.setNoDelay(true);
        send(opened);
      },
      data: receive,
      drain: send,
      close: lost,
      error: lost,
    };
    Bun.connect({ hostname: HOST, port, socket }).catch(reject);
  });
}
