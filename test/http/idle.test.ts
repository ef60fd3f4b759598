// Connections on which nothing comes: those that owe us a request are closed, those that we owe an answer are not.

import { expect, test } from "bun:test";
import { connect } from "node:net";
import type { Generate } from "../../src/core/run.ts";
import { type Listening, listen } from "../../src/http/server.ts";
import { chatBody, testApp } from "../helpers/app.ts";
import { answer } from "../helpers/run-events.ts";
import { until } from "../helpers/until.ts";

/** The timer under the server ticks every few seconds, and gives the first head of a connection ten of them. */
const CLOSED_MS_MAX = 40_000;

const LOCAL = { hostname: "127.0.0.1", port: 0, idleSecs: 1 };
const HEALTH = "GET /health HTTP/1.1\r\nhost: localhost\r\n\r\n";

function chat(extra: Readonly<Record<string, unknown>>): string {
  const body = JSON.stringify(chatBody(extra));
  return `POST /v1/chat/completions HTTP/1.1\r\nhost: localhost\r\ncontent-length: ${body.length}\r\n\r\n${body}`;
}

/** A connection that sends a text, and a byte again and again where that is asked for. */
function open({ port }: Listening, text: string, drip?: string) {
  const socket = connect(port, "127.0.0.1");
  socket.write(text);
  const dripping = drip === undefined ? undefined : setInterval(() => socket.write(drip), 200);
  const ended = Promise.withResolvers<string>();
  let received = "";
  socket.on("data", (data) => (received += String(data)));
  socket.on("error", () => undefined); // the last byte may find the connection gone
  socket.on("close", () => {
    clearInterval(dripping);
    ended.resolve(received);
  });
  return { ended: ended.promise, received: () => received };
}

// Both wait for the same timer.
test.concurrent(
  "half a head is not waited for without end, not even one that drips",
  async () => {
    const server = listen(testApp().app, LOCAL);
    const half = HEALTH.slice(0, -4);
    try {
      const first = [open(server, ""), open(server, half), open(server, half, "x")];
      const next = [open(server, HEALTH + half), open(server, HEALTH + half, "x")];
      for (const { ended } of first) expect(await ended).toBe("");
      for (const { ended } of next) expect(await ended).toStartWith("HTTP/1.1 200");
    } finally {
      await server.stop(true);
    }
  },
  CLOSED_MS_MAX,
);

test.concurrent(
  "an answer is waited for however long it takes; then its connection is kept for a while",
  async () => {
    const told = Promise.withResolvers<void>();
    const generate: Generate = async function* () {
      const [accepted, ...events] = answer("late");
      if (accepted !== undefined) yield accepted;
      await told.promise;
      yield* events;
    };
    const server = listen(testApp(generate, { keepAliveMs: 1_000_000 }).app, LOCAL);
    try {
      const whole = open(server, chat({}));
      const stream = open(server, chat({ stream: true }));
      const unread = `POST /nope HTTP/1.1\r\nhost: localhost\r\ncontent-length: 1000\r\n\r\n{`;
      const idle = [open(server, HEALTH), open(server, unread, "x")];
      for (const { ended } of idle) expect(await ended).toStartWith("HTTP/1.1 "); // the others have waited as long
      told.resolve();
      for (const slow of [whole, stream])
        await until("it is answered", () => slow.received().includes("late"));
      for (const slow of [whole, stream]) expect(await slow.ended).toContain("late");
      expect(await stream.ended).toEndWith("data: [DONE]\n\n\r\n0\r\n\r\n");
    } finally {
      await server.stop(true);
    }
  },
  CLOSED_MS_MAX,
);
