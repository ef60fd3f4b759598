// POSTs a request and streams the response over a raw socket. Not fetch: the client shares the CPU with the measured server,
// and fetch's body streams need a third (32 streams, 29,000 tokens/s) to two thirds (8 streams) more CPU time per token. One
// connection per request: llama-server closes it after each streamed answer regardless of headers, so reuse would make the
// servers' requests differ.

import type { Socket } from "bun";
import { ResponseParser } from "./http-response.ts";

const HOST = "127.0.0.1";

/** The connection closed before the end of the answer; `answered`: whether any byte had arrived. */
export class ConnectionLost extends Error {
  readonly answered: boolean;

  constructor(answered: boolean) {
    super("the server closed the connection before the answer ended");
    this.answered = answered;
  }
}

/**
 * POSTs a JSON body to the local `port` and passes on the response body as it arrives, one character per byte. Resolves to the
 * HTTP status when the response is complete. Rejects with ConnectionLost if the server closes too early, or with the connect
 * error.
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
    unsent = unsent.subarray(Math.max(0, taken)); // the rest is sent on `drain`
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
    // After `resolve`, the reject on close has no effect.
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
