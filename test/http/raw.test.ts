// What no client library sends: requests written by hand to the socket.

import { afterAll, beforeAll, expect, test } from "bun:test";
import { connect } from "node:net";
import { REQUEST_BODY_BYTES_MAX } from "../../src/http/limits.ts";
import { listen, type Listening } from "../../src/http/server.ts";
import { testApp } from "../helpers/app.ts";

const { app, logged } = testApp();
let server: Listening;
beforeAll(() => {
  server = listen(app, { hostname: "127.0.0.1", port: 0 });
});
afterAll(() => server.stop(true));

/** Everything the server answers until it has said `answers` times that it begins to. */
function exchange(text: string, answers = 1): Promise<string> {
  return new Promise((resolve, reject) => {
    let got = "";
    const socket = connect(server.port, "127.0.0.1", () => socket.write(text));
    socket.on("data", (piece) => {
      got += piece.toString();
      if (got.split("HTTP/1.1 ").length > answers && got.includes("\r\n\r\n")) socket.end();
    });
    socket.on("error", reject);
    socket.on("close", () => resolve(got));
  });
}

test.each(["10.0.0.1:443", "example.com:443", "/"])(
  "CONNECT %s is a method that no path takes",
  async (target) => {
    const answer = await exchange(`CONNECT ${target} HTTP/1.1\r\nHost: x\r\n\r\n`);
    expect(answer).toStartWith("HTTP/1.1 405 ");
    expect(answer).toContain('"method_not_allowed"');
    expect(logged).toEqual([]);
  },
);

test("a request behind a POST is answered", async () => {
  const body = JSON.stringify({ messages: [{ role: "user", content: "Hi" }] });
  const head = `Host: x\r\nContent-Type: application/json\r\nContent-Length: ${body.length}`;
  const post = `POST /v1/chat/completions HTTP/1.1\r\n${head}\r\n\r\n${body}`;
  const answers = await exchange(`${post}GET /health HTTP/1.1\r\nHost: x\r\n\r\n`, 2);
  expect(answers.match(/HTTP\/1\.1 200/g)).toHaveLength(2);
});

test("a body that is too large is read to its end, and answered", async () => {
  const { port } = server;
  const bytes = REQUEST_BODY_BYTES_MAX + 1_000_000;
  const answer = await new Promise<string>((resolve, reject) => {
    let got = "";
    const socket = connect(port, "127.0.0.1", () => {
      socket.write(`POST /v1/chat/completions HTTP/1.1\r\nHost: x\r\nContent-Length: ${bytes}\r\n\r\n`);
      const piece = Buffer.alloc(1_000_000, " ");
      let left = bytes;
      const send = (): void => {
        while (left > 0) {
          const part = piece.subarray(0, Math.min(left, piece.length));
          left -= part.length;
          if (!socket.write(part)) return void socket.once("drain", send);
        }
      };
      send();
    });
    socket.on("data", (piece) => {
      got += piece.toString();
      if (got.includes("payload_too_large")) socket.end();
    });
    socket.on("error", reject);
    socket.on("close", () => resolve(got));
  });
  expect(answer).toStartWith("HTTP/1.1 413 ");
});
