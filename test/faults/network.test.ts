// Clients that behave badly on the wire: those that leave at any moment, read slowly or not at all, send slowly, close
// one half, or are no HTTP. Others are served meanwhile, and nothing is left of any of them.

import { describe, expect, test } from "bun:test";
import { connect, type Socket } from "node:net";
import { fileServer, type Server, startServer } from "../helpers/binary.ts";
import {
  ask,
  CAPITAL,
  COUNT_100,
  ENDLESS,
  FIRST_TEXT,
  openStream,
  postChat,
} from "../helpers/chat-client.ts";
import { expectServes, openFiles } from "../helpers/faults.ts";
import { randomOf, seedOfRun } from "../helpers/seed.ts";
import { samples, valueOf } from "../helpers/prometheus.ts";
import { until, within } from "../helpers/until.ts";

/** With SVC_SLOW_TESTS=1 as many as a day may bring. */
const ABORTED = process.env["SVC_SLOW_TESTS"] === "1" ? 10_000 : 500;
const SLOW_CLIENTS = 100;
const PARALLEL = 50;
/** Connections of the tests' own requests, which the client may keep open. */
const SPARE = 20;

const server = fileServer(["--max-seqs", "16"]);

async function scrape({ url }: Server): Promise<string> {
  return (await fetch(`${url}/metrics`)).text();
}

/** Waits until no request is under way and no sequence is held. */
async function untilQuiet(of: Server): Promise<void> {
  await until("nothing is under way", async () => {
    const text = await scrape(of);
    const open = samples(text).filter(({ name }) => name === "http_requests_in_flight");
    const busy = ["svc_running_sequences", "svc_queue_depth", "svc_kv_cells_used"];
    return open.every(({ value }) => value === 0) && busy.every((name) => valueOf(text, name) === 0);
  });
}

/** A connection that sends these bytes and listens. */
function wire({ url }: Server, bytes: string): Socket {
  const socket = connect(Number(new URL(url).port), "127.0.0.1");
  socket.on("error", () => {}); // a reset is what some of these ask for
  socket.write(bytes);
  return socket;
}

function post(path: string, body: string, headers: readonly string[] = []): string {
  const head = [`POST ${path} HTTP/1.1`, "host: localhost", "content-type: application/json", ...headers];
  return [...head, `content-length: ${Buffer.byteLength(body)}`, "", body].join("\r\n");
}

/** Everything that arrives until the other side ends the connection. */
async function rest(socket: Socket): Promise<string> {
  let text = "";
  for await (const chunk of socket) text += String(chunk);
  return text;
}

test(`${ABORTED} clients that leave at random moments leave nothing behind`, async () => {
  await expectServes(server());
  await untilQuiet(server());
  const files = openFiles(server().pid);
  const random = randomOf(seedOfRun());
  const aborts = async (): Promise<void> => {
    const client = new AbortController();
    const streams = random() < 0.7;
    const prompt = random() < 0.5 ? ENDLESS : COUNT_100;
    const request = postChat(server().url, ask(prompt, { stream: streams }), { signal: client.signal });
    if (streams && random() < 0.5) {
      // in mid-stream, after some bytes
      const response = await request;
      const reader = response.body?.getReader();
      for (let reads = Math.floor(random() * 3); reads > 0; reads--) await reader?.read();
      client.abort();
      await reader?.read().catch(() => {});
    } else {
      const moment = random() * 30;
      const timer = setTimeout(() => client.abort(), moment);
      await request.then((response) => response.text()).catch(() => {});
      clearTimeout(timer);
    }
  };
  let left = ABORTED;
  const client = async (): Promise<void> => {
    while (left-- > 0) await aborts();
  };
  await Promise.all(Array.from({ length: PARALLEL }, client));
  await untilQuiet(server());
  await expectServes(server());
  // Connections that the client keeps for reuse stay open; those of the aborted requests do not.
  await until("the sockets are closed", () => openFiles(server().pid) <= files + PARALLEL);
  expect(server().stderr()).not.toContain("internal_error");
}, 600_000);

describe("slow ones", () => {
  test(`${SLOW_CLIENTS} that never finish their request hold nobody up`, async () => {
    const begun = [
      "GET /health HTTP/1.1\r\nhost: loc",
      "POST /v1/chat/completions HTTP/1.1\r\nhost: localhost\r\ncontent-length: 1000\r\n\r\n{",
      "POST /v1/files HTTP/1.1\r\nhost: x\r\ncontent-type: multipart/form-data; boundary=b\r\ntransfer-encoding: chunked\r\n\r\n5\r\n--b",
    ];
    const files = openFiles(server().pid);
    const sockets = Array.from({ length: SLOW_CLIENTS }, (_, i) =>
      wire(server(), begun[i % begun.length] ?? ""),
    );
    await until("all are sent", () => sockets.every(({ bytesWritten }) => bytesWritten > 20));
    await expectServes(server());
    for (const socket of sockets) socket.destroy();
    // Counted from before the first connection: when the last byte is sent, some may still wait to be accepted.
    await until("the sockets are closed", () => openFiles(server().pid) <= files + SPARE);
    await untilQuiet(server());
  });

  test("streams that nobody reads hold nobody up", async () => {
    const body = JSON.stringify(ask(ENDLESS, { stream: true, logprobs: true, top_logprobs: 20 }));
    const sockets = Array.from({ length: 8 }, () =>
      wire(server(), post("/v1/chat/completions", body)).pause(),
    );
    await until("they run", async () => (valueOf(await scrape(server()), "svc_running_sequences") ?? 0) > 0);
    await expectServes(server());
    for (const socket of sockets) socket.destroy();
    await untilQuiet(server());
  });
});

describe("half-closed connections", () => {
  test("a request whose client has closed its half is answered or dropped, and nothing stays", async () => {
    const body = JSON.stringify(ask(CAPITAL));
    const socket = wire(server(), post("/v1/chat/completions", body, ["connection: close"]));
    socket.end();
    const answer = await within(20_000, "the connection ends", rest(socket));
    if (answer !== "") expect(answer).toStartWith("HTTP/1.1 200");
    await untilQuiet(server());
  });

  test("a body that breaks off is an error or a closed connection, and nothing stays", async () => {
    const whole = post("/v1/chat/completions", JSON.stringify(ask(CAPITAL)));
    const sockets = Array.from({ length: 20 }, (_, i) =>
      wire(server(), whole.slice(0, whole.length - 1 - i)),
    );
    for (const socket of sockets) socket.end();
    for (const socket of sockets) {
      const answer = await within(20_000, "the connection ends", rest(socket));
      if (answer !== "") expect(answer).toStartWith("HTTP/1.1 400");
    }
    await untilQuiet(server());
    await expectServes(server());
  });

  test("a stream whose client has closed its half and vanishes frees its sequence", async () => {
    const socket = wire(
      server(),
      post("/v1/chat/completions", JSON.stringify(ask(ENDLESS, { stream: true }))),
    );
    await until("it runs", async () => valueOf(await scrape(server()), "svc_running_sequences") === 1);
    socket.end();
    socket.destroy();
    await untilQuiet(server());
  });
});

describe("what is no proper HTTP", () => {
  test.each([
    ["nothing", ""],
    ["line ends", "\r\n\r\n\r\n"],
    ["binary", "\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03"],
    ["no version", "GET /\r\n\r\n"],
    ["two lengths", "POST / HTTP/1.1\r\nhost: x\r\ncontent-length: 1\r\ncontent-length: 2\r\n\r\nab"],
    [
      "length and chunks",
      "POST / HTTP/1.1\r\nhost: x\r\ncontent-length: 4\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n",
    ],
    ["a negative length", "POST / HTTP/1.1\r\nhost: x\r\ncontent-length: -1\r\n\r\n"],
    [
      "a huge length",
      `POST /v1/chat/completions HTTP/1.1\r\nhost: x\r\ncontent-length: ${"9".repeat(30)}\r\n\r\n{}`,
    ],
    [
      "a huge chunk",
      "POST /v1/chat/completions HTTP/1.1\r\nhost: x\r\ntransfer-encoding: chunked\r\n\r\nffffffffffffffff\r\n{}",
    ],
    ["a header without an end", `GET /health HTTP/1.1\r\nhost: x\r\nx: ${"y".repeat(1_000_000)}`],
    ["many headers", `GET /health HTTP/1.1\r\nhost: x\r\n${"a: b\r\n".repeat(5000)}\r\n`],
    ["a long address", `GET /${"a".repeat(100_000)} HTTP/1.1\r\nhost: x\r\n\r\n`],
    [
      "an absolute address elsewhere",
      "GET http://other.example/v1/models HTTP/1.1\r\nhost: other.example\r\nconnection: close\r\n\r\n",
    ],
    ["a path upwards", "GET /ui/../../../../etc/passwd HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n"],
  ])("%s", async (_name, bytes) => {
    const socket = wire(server(), bytes);
    socket.end();
    const answer = await within(20_000, "the connection ends", rest(socket));
    expect(answer).not.toContain("root:");
    const status = Number(/^HTTP\/1\.1 (\d+)/.exec(answer)?.[1] ?? 0);
    expect(status === 505 || status < 500, answer.slice(0, 200)).toBe(true); // 505: not this version of HTTP
    await expectServes(server());
  });
});

test("a client that reads slowly gets all of its stream", async () => {
  const own = await startServer();
  const stream = await openStream(own.url, ask(COUNT_100));
  await stream.readTo(FIRST_TEXT);
  await expectServes(own); // meanwhile nothing was read of it
  expect((await stream.finish()).text).toBe(COUNT_100.answer);
});
