// Bodies that stand still or drip: an error and the end of their connection, however they are sent. Slow ones arrive.

import { describe, expect, test } from "bun:test";
import { connect } from "node:net";
import { SERVER } from "../../src/core/caller.ts";
import { BODY_BYTES_PER_SEC_MIN, BODY_STALL_MS } from "../../src/http/limits.ts";
import { createMcp } from "../../src/http/mcp/server.ts";
import { type Handler, listen } from "../../src/http/server.ts";
import { chatBody, testApp, testDeps } from "../helpers/app.ts";
import { answer, playing } from "../helpers/run-events.ts";

const CHAT = "/v1/chat/completions";
const PIECES = 400;

/** A chat with blanks before it, whose pieces come after so many milliseconds of the clock each. */
async function slowChat(pieceBytes: number, everyMs: number): Promise<Response> {
  let clockMs = 0;
  let sent = 0;
  const pace = { stallMs: BODY_STALL_MS, bytesPerSec: BODY_BYTES_PER_SEC_MIN, now: () => clockMs };
  const pull = (controller: ReadableStreamDefaultController<Uint8Array>): void => {
    clockMs += everyMs;
    if (sent++ < PIECES) return controller.enqueue(new Uint8Array(pieceBytes).fill(0x20));
    controller.enqueue(new TextEncoder().encode(JSON.stringify(chatBody())));
    controller.close();
  };
  const body = new ReadableStream<Uint8Array>({ pull }, { highWaterMark: 0 });
  const headers = { "content-type": "application/json" };
  const { request } = testApp(undefined, { bodyPace: pace });
  return request(CHAT, { method: "POST", headers, body });
}

describe("a body", () => {
  test.each([
    ["50 KiB a second", 50 * 1024, 1_000],
    ["the least that there may be, in pieces far apart", BODY_BYTES_PER_SEC_MIN * 100, 100_000],
  ])("of %s arrives, whatever time it takes", async (_, bytes, everyMs) => {
    expect((await slowChat(bytes, everyMs)).status).toBe(200);
  });

  test.each([
    ["drips", 1, 1_000],
    ["comes at half the least pace", BODY_BYTES_PER_SEC_MIN / 2, 1_000],
  ])("that %s is refused", async (_, bytes, everyMs) => {
    const response = await slowChat(bytes, everyMs);
    expect(response.status).toBe(408);
    expect((await response.json()).error).toEqual({
      code: "request_timeout",
      type: "invalid_request_error",
      message:
        "the request body arrived too slowly: it may pause for at most 120 s and must average at least 1024 bytes per second; send it again over a faster connection",
    });
  });
});

describe("a body that stands still on a connection", () => {
  const HURRIED = { stallMs: 50, bytesPerSec: BODY_BYTES_PER_SEC_MIN, now: () => performance.now() };
  const { generate } = playing(answer("Hi"));
  const log = (): void => undefined;
  const app = (): Handler => testApp(undefined, { bodyPace: HURRIED }).app;
  const mcp = (): Handler => createMcp({ ...testDeps(generate, { log, bodyPace: HURRIED }), host: "x" });

  test.each([
    ["of a declared length", app, CHAT, "application/json", "content-length: 1000\r\n\r\n{"],
    ["without a first byte", app, CHAT, "application/json", "content-length: 1000\r\n\r\n"],
    ["in chunks", app, CHAT, "application/json", "transfer-encoding: chunked\r\n\r\n1\r\n{\r\n"],
    ["in the middle of a chunk", app, CHAT, "application/json", "transfer-encoding: chunked\r\n\r\n99\r\n{"],
    ["a form", app, "/v1/files", "multipart/form-data; boundary=b", "content-length: 1000\r\n\r\n--b\r\n"],
    ["of MCP", mcp, "/mcp", "application/json", "content-length: 1000\r\n\r\n{"],
  ])("%s: 408, and the connection is closed", async (_, handler, path, type, rest) => {
    const server = listen(handler(), { hostname: "127.0.0.1", port: 0 });
    try {
      const socket = connect(server.port, "127.0.0.1");
      socket.write(`POST ${path} HTTP/1.1\r\nhost: localhost\r\ncontent-type: ${type}\r\n${rest}`);
      let received = "";
      for await (const data of socket) received += String(data);
      expect(received).toStartWith("HTTP/1.1 408 ");
      expect(received).toContain('{"error":{"code":"request_timeout"');
    } finally {
      await server.stop(true);
    }
  });

  test("does not concern an answer that takes longer", async () => {
    const told = Promise.withResolvers<void>();
    const { app: slow } = testApp(
      async function* () {
        await told.promise;
        yield* generate({} as never, new AbortController().signal, SERVER);
      },
      { bodyPace: HURRIED },
    );
    const server = listen(slow, { hostname: "127.0.0.1", port: 0 });
    try {
      const url = `http://127.0.0.1:${server.port}`;
      const headers = { "content-type": "application/json" };
      const asked = fetch(`${url}${CHAT}`, { method: "POST", headers, body: JSON.stringify(chatBody()) });
      const stalled = new ReadableStream({
        start: (controller) => controller.enqueue(new Uint8Array([0x7b])),
      });
      const late = await fetch(`${url}/v1/completions`, { method: "POST", headers, body: stalled });
      expect(late.status).toBe(408); // by then the other has waited about as long
      told.resolve();
      expect((await asked).status).toBe(200);
    } finally {
      await server.stop(true);
    }
  });
});
