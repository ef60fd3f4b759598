// What takes long by its nature. Skipped, visibly, unless SVC_SLOW_TESTS=1.

import { describe, expect, test } from "bun:test";
import { DRAIN_MS, ENGINE_STOP_MS } from "../../src/core/limits.ts";
import { startServer } from "../helpers/binary.ts";
import { ask, CAPITAL, completeText, ENDLESS, FIRST_TEXT, openStream } from "../helpers/chat-client.ts";
import { isAlive } from "../helpers/processes.ts";
import { within } from "../helpers/until.ts";

const SKIP = process.env["SVC_SLOW_TESTS"] !== "1";

describe("slow (SVC_SLOW_TESTS=1 runs these)", () => {
  // The HTTP framework's own idle limit is 30 s.
  test.skipIf(SKIP)(
    "a body that takes 35 s arrives",
    async () => {
      const server = await startServer();
      await completeText(server.url, ask(CAPITAL));
      const resume = server.pauseEngine();
      const answer = completeText(server.url, ask(CAPITAL));
      setTimeout(resume, 35_000);
      expect(await answer).toBe(CAPITAL.answer);
    },
    60_000,
  );

  test.skipIf(SKIP)(
    "a stop with an engine that hangs: its stream ends with an error, the engine is killed, 0",
    async () => {
      const server = await startServer();
      await server.says("Ready.");
      const stream = await openStream(server.url, ask(ENDLESS));
      await stream.readTo(FIRST_TEXT);
      const engine = server.enginePid();
      server.pauseEngine();
      server.kill("SIGTERM");
      expect(await within(DRAIN_MS + ENGINE_STOP_MS + 5_000, "the server ends", server.exited)).toBe(0);
      expect(isAlive(engine)).toBe(false);
      const { errors } = await stream.finish();
      expect(errors).toHaveLength(1);
    },
    60_000,
  );

  test.skipIf(SKIP)(
    "a stop with an endless stream: it ends with an error after the deadline",
    async () => {
      const server = await startServer();
      await server.says("Ready.");
      const stream = await openStream(server.url, ask(ENDLESS));
      await stream.readTo(FIRST_TEXT);
      server.kill("SIGTERM");
      const answer = await within(DRAIN_MS + 5_000, "the stream ends", stream.finish());
      expect(answer.errors).toHaveLength(1);
      expect(await within(5_000, "the server ends", server.exited)).toBe(0);
    },
    60_000,
  );
});
