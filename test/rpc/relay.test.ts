// The RPC relay between fake engines and fake devices: handshake, measurement, loss.

import { afterEach, expect, test } from "bun:test";
import { connect, createServer, type Socket } from "node:net";
import { dial, measureWorker, openRelay, type WorkerAddress } from "../../src/rpc/dial.ts";
import { parseGreeting, proofLine, provenMode } from "../../src/rpc/handshake.ts";
import { startWorker, type WorkerOptions } from "../../src/rpc/worker.ts";
import { failure } from "../helpers/failure.ts";
import { until } from "../helpers/until.ts";

const closers: (() => void)[] = [];
afterEach(() => closers.splice(0).forEach((close) => close()));

/** A server of this machine; returns its port. */
async function listen(onSocket: (socket: Socket) => void): Promise<number> {
  const server = createServer(onSocket).listen(0, "127.0.0.1");
  await new Promise((resolve) => server.once("listening", resolve));
  closers.push(() => server.close());
  const address = server.address();
  return address !== null && typeof address === "object" ? address.port : 0;
}

/** Devices that answer in capitals, behind a worker. */
async function worker(changes: Partial<WorkerOptions> = {}) {
  const clients: Socket[] = [];
  const devices = await listen((socket) => {
    clients.push(socket);
    socket.on("data", (bytes) => socket.write(bytes.toString().toUpperCase())).on("error", () => {});
  });
  const log: string[] = [];
  const options = {
    host: "127.0.0.1",
    port: 0,
    token: "secret",
    release: "1",
    log: (line: string) => log.push(line),
  };
  const running = await startWorker({ ...options, devicePort: () => Promise.resolve(devices), ...changes });
  closers.push(running.close);
  const address: WorkerAddress = { host: "127.0.0.1", port: running.port, token: "secret", release: "1" };
  return { running, address, log, clients };
}

/** Sends a text to an endpoint, and returns what comes back with the open connection. */
async function exchange(
  endpoint: string,
  text: string,
): Promise<{ readonly back: string; readonly socket: Socket }> {
  const socket = connect({ host: "127.0.0.1", port: Number(endpoint.split(":")[1]) });
  closers.push(() => socket.destroy());
  let back = "";
  socket.on("data", (bytes) => (back += bytes.toString())).on("error", () => {});
  socket.write(text);
  await until("an answer or the end", () => back.length >= text.length || socket.closed);
  return { back, socket };
}

test("bytes pass the relay in both directions, one engine at a time", async () => {
  const { address, log } = await worker();
  const relay = await openRelay(address);
  closers.push(relay.close);
  const first = await exchange(relay.endpoint, "hello");
  expect(first.back).toBe("HELLO");
  const [, port] = relay.endpoint.split(":");
  const second = connect({ host: "127.0.0.1", port: Number(port) });
  await new Promise((resolve) => second.on("error", () => {}).once("close", resolve));
  expect(relay.loss()?.message).toContain("it serves another engine");
  expect(log.join()).toContain("it serves another engine");
  first.socket.destroy();
  await until("the worker is free again", async () => {
    const { back } = await exchange(relay.endpoint, "again");
    return back === "AGAIN";
  });
  expect(relay.loss()).toBeUndefined();
});

test("a lost worker is named; an engine that ends by itself is no loss", async () => {
  const { address, clients } = await worker();
  const relay = await openRelay(address);
  closers.push(relay.close);
  const own = await exchange(relay.endpoint, "a");
  own.socket.destroy();
  await until("the devices see the end", () => clients[0]?.destroyed === true);
  expect(relay.loss()).toBeUndefined();
  const { socket } = await exchange(relay.endpoint, "b");
  clients.at(-1)?.destroy();
  await until("the engine's connection ends", () => socket.destroyed || socket.closed);
  expect(relay.loss()).toMatchObject({ code: "rpc_worker_lost", status: 503 });
});

test("wrong token, other release, something else, nothing: each is named", async () => {
  const { address, running, log } = await worker();
  const wrong = failure(dial({ ...address, token: "guess" }, "rpc"));
  expect(await wrong).toContain("the token is wrong or missing");
  expect(log.join()).toContain("the token is wrong or missing");
  expect(await failure(dial({ ...address, release: "2" }, "rpc"))).toContain(
    "of release 1, those of this svc of 2",
  );
  const other = await listen((socket) => socket.end("220 mail.example ESMTP\r\n"));
  expect(await failure(dial({ ...address, port: other }, "rpc"))).toContain("not an svc rpc-worker");
  const long = await listen((socket) => socket.on("error", () => {}).write("x".repeat(100_000)));
  expect(await failure(dial({ ...address, port: long }, "rpc"))).toContain("does not speak svc's protocol");
  running.close();
  expect(await failure(dial(address, "rpc"))).toContain("could not be reached (ECONNREFUSED)");
  expect(await failure(openRelay(address))).toContain("svc rpc-worker");
});

test("the way to a worker is measured", async () => {
  const { roundTripMs, megabytesPerSecond } = await measureWorker((await worker()).address);
  expect(roundTripMs).toBeGreaterThan(0);
  expect(megabytesPerSecond).toBeGreaterThan(0);
});

test("a proof is for one nonce, one mode and one token", () => {
  const line = proofLine("rpc", "n1", "secret");
  expect(provenMode(line, "n1", "secret")).toBe("rpc");
  expect(provenMode(line, "n2", "secret")).toBeUndefined();
  expect(provenMode(line, "n1", "other")).toBeUndefined();
  expect(provenMode(line.replace("rpc", "echo"), "n1", "secret")).toBeUndefined();
  expect(line).not.toContain("secret");
  expect(parseGreeting("svc-rpc 2 1 n")).toBeUndefined();
});

test("a refused client does not keep its connection, and an engine that left while it was connected frees the worker", async () => {
  const { running, address, clients } = await worker();
  const stubborn = connect({ host: "127.0.0.1", port: running.port, allowHalfOpen: true });
  const closed = new Promise((resolve) => stubborn.once("close", resolve));
  stubborn
    .on("error", () => {})
    .resume()
    .write("rpc wrong\n");
  stubborn.once("end", () => stubborn.end());
  await closed;
  const relay = await openRelay(address);
  closers.push(relay.close);
  const [, port] = relay.endpoint.split(":");
  const hasty = connect({ host: "127.0.0.1", port: Number(port) });
  await new Promise((resolve) => hasty.once("connect", resolve));
  hasty.resetAndDestroy();
  await until("its connection to the devices has ended", () => clients.every(({ destroyed }) => destroyed));
  await until("the worker is free", async () => (await exchange(relay.endpoint, "free")).back === "FREE");
});
