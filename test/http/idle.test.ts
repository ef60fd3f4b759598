// Connections on which nothing comes: those that owe us a request are closed, those that we owe an answer are not.

import { expect, test } from "bun:test";
import { connect } from "node:net";
import { listen } from "../../src/http/server.ts";

/** The timer under the server ticks every few seconds. */
const CLOSED_MS_MAX = 30_000;

test(
  "half a request is not waited for without end, a slow answer is",
  async () => {
    const answered = Promise.withResolvers<Response>();
    const server = listen({ fetch: () => answered.promise }, { hostname: "127.0.0.1", port: 0, idleSecs: 1 });
    const open = (text: string): { readonly ended: Promise<string> } => {
      const socket = connect(server.port, "127.0.0.1", () => socket.write(text));
      const ended = Promise.withResolvers<string>();
      let received = "";
      socket.on("data", (data) => (received += String(data)));
      socket.on("close", () => ended.resolve(received));
      return { ended: ended.promise };
    };
    try {
      const asked = open("GET /health HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n");
      const half = open("GET /health HTTP/1.1\r\nhost: x");
      expect(await half.ended).toBe(""); // by then the other connection has been idle for as long
      answered.resolve(new Response("late"));
      expect(await asked.ended).toEndWith("late");
    } finally {
      await server.stop(true);
    }
  },
  CLOSED_MS_MAX,
);
