// What takes long by its nature. Skipped, visibly, unless SVC_SLOW_TESTS=1.

import { describe, expect, test } from "bun:test";
import { connect } from "node:net";
import { ENGINE_STOP_MS } from "../../src/engine/limits.ts";
import { startServer } from "../helpers/binary.ts";
import {
  ask,
  CAPITAL,
  completeText,
  COUNT_100,
  ENDLESS,
  FIRST_TEXT,
  openStream,
} from "../helpers/chat-client.ts";
import { isAlive } from "../helpers/processes.ts";
import { until, within } from "../helpers/until.ts";

const SKIP = process.env["SVC_SLOW_TESTS"] !== "1";

/** Seconds that running requests have when these servers stop. */
const DRAIN_SECS = 2;
/** Longest time of a test, milliseconds: a busy machine computes 32 answers ten times as slowly. */
const LIMIT_MS = 600_000;

describe("slow (SVC_SLOW_TESTS=1 runs these)", () => {
  // The HTTP framework's own idle limit is 30 s.
  test.skipIf(SKIP)(
    "a body that takes 35 s arrives",
    async () => {
      const server = await startServer([], { env: { SVC_HANG_TIMEOUT: "0" } }); // it shall stand still
      await completeText(server.url, ask(CAPITAL));
      const resume = server.pauseEngine();
      const answer = completeText(server.url, ask(CAPITAL));
      setTimeout(resume, 35_000);
      expect(await answer).toBe(CAPITAL.answer);
    },
    LIMIT_MS,
  );

  test.skipIf(SKIP)(
    "a request body that stands still is given up after two minutes",
    async () => {
      const server = await startServer();
      const socket = connect(Number(new URL(server.url).port), "127.0.0.1");
      const head = "POST /v1/chat/completions HTTP/1.1\r\nhost: localhost\r\ncontent-length: 100\r\n\r\n";
      socket.write(`${head}{`);
      let answer = "";
      for await (const data of socket) answer += String(data);
      expect(answer).toStartWith("HTTP/1.1 408 ");
      expect(await completeText(server.url, ask(CAPITAL))).toBe(CAPITAL.answer);
    },
    LIMIT_MS,
  );

  test.skipIf(SKIP)(
    "a stop with an engine that hangs: its stream ends with an error, the engine is killed, 0",
    async () => {
      const server = await startServer(["--drain-timeout", String(DRAIN_SECS)]);
      await server.says("Ready.");
      const stream = await openStream(server.url, ask(ENDLESS));
      await stream.readTo(FIRST_TEXT);
      const engine = server.enginePid();
      server.pauseEngine();
      server.kill("SIGTERM");
      expect(await within(DRAIN_SECS * 1000 + ENGINE_STOP_MS + 5_000, "the server ends", server.exited)).toBe(
        0,
      );
      expect(isAlive(engine)).toBe(false);
      const { errors } = await stream.finish();
      expect(errors).toHaveLength(1);
    },
    LIMIT_MS,
  );

  test.skipIf(SKIP)(
    "a client that reads slowly gets the rest of its answer although the server is asked to stop",
    async () => {
      const server = await startServer(["--max-seqs", "1"]);
      const body = JSON.stringify(
        ask(COUNT_100, { stream: true, n: 32, logprobs: true, top_logprobs: 20 }), // 25 MB, more than sockets hold
      );
      const head = ["POST /v1/chat/completions HTTP/1.1", "host: localhost", "connection: close"];
      const socket = connect(Number(new URL(server.url).port), "127.0.0.1").pause();
      socket.write([...head, `content-length: ${Buffer.byteLength(body)}`, "", body].join("\r\n"));
      await until("it runs", () => socket.bytesWritten > body.length);
      // There is one sequence: once this is answered, the run above is over.
      expect(await completeText(server.url, ask(CAPITAL))).toBe(CAPITAL.answer);
      server.kill("SIGTERM");
      await server.says("Stopping");
      let received = "";
      for await (const chunk of socket) received += String(chunk);
      expect(received.includes("data: [DONE]")).toBe(true); // too long to be printed
      expect(await within(5_000, "the server ends", server.exited)).toBe(0);
    },
    LIMIT_MS,
  );

  test.skipIf(SKIP)(
    "a stop with an endless stream: it ends with an error after the deadline",
    async () => {
      const server = await startServer(["--drain-timeout", String(DRAIN_SECS)]);
      await server.says("Ready.");
      const stream = await openStream(server.url, ask(ENDLESS));
      await stream.readTo(FIRST_TEXT);
      server.kill("SIGTERM");
      const answer = await within(DRAIN_SECS * 1000 + 5_000, "the stream ends", stream.finish());
      expect(answer.errors).toHaveLength(1);
      expect(await within(5_000, "the server ends", server.exited)).toBe(0);
    },
    LIMIT_MS,
  );
});
