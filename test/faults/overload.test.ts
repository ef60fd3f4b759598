// More clients than the server has room for: each is answered, none is lost, and none keeps the others out.

import { expect, test } from "bun:test";
import { connect, type Socket } from "node:net";
import { readFileSync } from "node:fs";
import { fileServer, startServer } from "../helpers/binary.ts";
import { ask, CAPITAL, COUNT_100, postChat } from "../helpers/chat-client.ts";
import { expectServes } from "../helpers/faults.ts";
import { valueOf } from "../helpers/prometheus.ts";
import { until } from "../helpers/until.ts";

const server = fileServer(["--max-seqs", "2", "--queue-max", "20", "--trusted-proxies", "127.0.0.1"]);

const somaxconn = Number(readFileSync("/proc/sys/net/core/somaxconn", "utf8"));
/** More than the runtime's own backlog of 512. */
const BURST = 800;

/** A connection that has sent one request; its answer's head, once it is there. */
function asked(port: number, onOpen: () => void): Promise<string> {
  const body = JSON.stringify(ask(CAPITAL));
  return new Promise((resolve) => {
    let text = "";
    const socket: Socket = connect(port, "127.0.0.1", () => {
      onOpen();
      socket.write(
        `POST /v1/chat/completions HTTP/1.1\r\nhost: localhost\r\ncontent-length: ${body.length}\r\n\r\n${body}`,
      );
    });
    socket.on("data", (data) => {
      text += String(data);
      if (text.includes("\r\n\r\n")) socket.destroy();
    });
    socket.on("error", () => {});
    socket.on("close", () => resolve(text.slice(9, 12)));
  });
}

test.skipIf(somaxconn < BURST)(
  `${BURST} clients at once, while the server cannot accept: all are answered`,
  async () => {
    await expectServes(server());
    process.kill(server().pid, "SIGSTOP");
    let open = 0;
    const answers = Array.from({ length: BURST }, () =>
      asked(Number(new URL(server().url).port), () => open++),
    );
    await until("the kernel holds them all", () => open === BURST);
    process.kill(server().pid, "SIGCONT");
    const statuses = await Promise.all(answers);
    const count = (status: string): number => statuses.filter((one) => one === status).length;
    expect(count("200") + count("429")).toBe(BURST);
    expect(count("429")).toBeGreaterThan(BURST / 2);
    await expectServes(server());
  },
);

test("a light client beside a greedy one is answered before most of what the greedy one has asked for", async () => {
  const { url } = server();
  let greedy = 0;
  const from = (client: string): RequestInit => ({
    headers: { "content-type": "application/json", "x-forwarded-for": client },
  });
  const many = Array.from({ length: 22 }, async () => {
    const response = await postChat(url, ask(COUNT_100), from("10.0.0.1"));
    await response.text();
    greedy++;
  });
  await until("the greedy one fills the queue", async () => {
    const response = await postChat(url, ask(CAPITAL), from("10.0.0.1"));
    await response.text();
    return response.status === 429;
  });
  const before = greedy;
  const light = await postChat(url, ask(CAPITAL), from("10.0.0.2"));
  expect(light.status).toBe(200);
  expect(greedy - before).toBeLessThanOrEqual(6); // two run, one is ahead in the engine, one has the turn
  await Promise.all(many);
});

test("connections beyond max_connections are answered and closed; the others go on when some have left", async () => {
  const small = await startServer(["--max-connections", "20"]);
  const port = Number(new URL(small.url).port);
  const idle = Array.from({ length: 40 }, () => connect(port, "127.0.0.1"));
  await until("it is too many", async () => {
    const response = await fetch(`${small.url}/v1/models`);
    return response.status === 503 && response.headers.get("retry-after") === "1";
  });
  expect((await fetch(`${small.url}/health`)).status).toBe(200);
  for (const socket of idle) socket.destroy();
  await until("there is room again", async () => (await fetch(`${small.url}/v1/models`)).status === 200);
});

test("what the kernel dropped is among the metrics", async () => {
  const text = await (await fetch(`${server().url}/metrics`)).text();
  expect(valueOf(text, "svc_connections_dropped_total")).toBeGreaterThanOrEqual(0);
});
