// Connects to an RPC worker, measures the way to it, and relays an engine's connection to it.

import { itemAt } from "../core/assert.ts";
import { connect, createServer, type Server, type Socket } from "node:net";
import { connect as connectTls } from "node:tls";
import { ServiceError } from "../core/error.ts";
import { codeOf, reasonOf } from "../core/reason.ts";
import { type Mode, parseGreeting, proofLine } from "./handshake.ts";
import { ECHO_BYTES, ECHO_MS, ECHO_ROUNDS, HANDSHAKE_MS } from "./limits.ts";
import { join, readLine } from "./line.ts";

/** A worker as the configuration names it. */
export interface WorkerAddress {
  readonly host: string;
  readonly port: number;
  /** Shared with the worker; empty where it has none. */
  readonly token: string;
  /** PEM certificate that signs the worker's; absent: without TLS. */
  readonly ca?: string;
  /** Release of the native libraries of this svc. */
  readonly release: string;
}

/** The way to a worker. */
export interface WorkerSpeed {
  /** Median round trip of one byte, milliseconds. */
  readonly roundTripMs: number;
  /** Megabytes a second, there and back at the same time. */
  readonly megabytesPerSecond: number;
}

/** `host:port` as users write it. */
export function nameOf({ host, port }: WorkerAddress): string {
  return host.includes(":") ? `[${host}]:${port}` : `${host}:${port}`;
}

/** A connection after the handshake, paused. Throws ServiceError(rpc_worker_lost) with the reason and the fix. */
export async function dial(worker: WorkerAddress, mode: Mode): Promise<Socket> {
  const lost = (reason: string): ServiceError =>
    new ServiceError("rpc_worker_lost", `RPC worker ${nameOf(worker)}: ${reason}`);
  let socket: Socket;
  try {
    socket = await connected(worker);
  } catch (error) {
    throw lost(
      `it could not be reached (${codeOf(error) || reasonOf(error)}). Start it there with: svc rpc-worker`,
    );
  }
  try {
    const greeting = parseGreeting(await readLine(socket));
    if (greeting === undefined) throw lost("it is not an svc rpc-worker of this version");
    if (greeting.release !== worker.release)
      throw lost(
        `its native libraries are of release ${greeting.release}, those of this svc of ${worker.release}. Install the same svc on both machines`,
      );
    socket.write(`${proofLine(mode, greeting.nonce, worker.token)}\n`);
    const answer = await readLine(socket);
    if (answer !== "ok") throw lost(answer.replace(/^refused /, ""));
    return socket;
  } catch (error) {
    socket.destroy();
    throw error instanceof ServiceError ? error : lost(codeOf(error) || reasonOf(error));
  }
}

function connected({ host, port, ca }: WorkerAddress): Promise<Socket> {
  return new Promise((resolve, reject) => {
    const socket =
      ca === undefined ? connect({ host, port }) : connectTls({ host, port, ca, servername: host });
    const timer = setTimeout(
      () => socket.destroy(new Error(`no connection within ${HANDSHAKE_MS} ms`)),
      HANDSHAKE_MS,
    );
    const fail = (error: Error): void => {
      clearTimeout(timer);
      reject(error);
    };
    socket.once("error", fail);
    socket.once(ca === undefined ? "connect" : "secureConnect", () => {
      clearTimeout(timer);
      socket.off("error", fail);
      resolve(socket);
    });
  });
}

/** Measures the way to a worker. Throws as dial, also when the worker is too slow to measure. */
export async function measureWorker(worker: WorkerAddress): Promise<WorkerSpeed> {
  const socket = await dial(worker, "echo");
  const timer = setTimeout(
    () => socket.destroy(new Error(`no end of the measurement within ${ECHO_MS} ms`)),
    ECHO_MS,
  );
  try {
    const times: number[] = [];
    for (let round = 0; round < ECHO_ROUNDS; round++) times.push(await echo(socket, 1));
    const ms = await echo(socket, ECHO_BYTES);
    const sorted = times.toSorted((a, b) => a - b);
    return {
      roundTripMs: itemAt(sorted, Math.floor(sorted.length / 2)),
      megabytesPerSecond: ECHO_BYTES / 1e6 / (ms / 1000),
    };
  } catch (error) {
    throw new ServiceError(
      "rpc_worker_lost",
      `RPC worker ${nameOf(worker)}: ${codeOf(error) || reasonOf(error)}`,
      {
        cause: error,
      },
    );
  } finally {
    clearTimeout(timer);
    socket.destroy();
  }
}

/** Time until `bytes` bytes have come back, milliseconds. */
function echo(socket: Socket, bytes: number): Promise<number> {
  return new Promise((resolve, reject) => {
    const started = performance.now();
    let back = 0;
    const onData = (piece: Buffer): void => {
      back += piece.length;
      if (back < bytes) return;
      socket.off("data", onData).off("error", reject).off("close", onClose);
      resolve(performance.now() - started);
    };
    const onClose = (): void => reject(new Error("the connection was closed"));
    socket.on("data", onData).once("error", reject).once("close", onClose);
    socket.write(Buffer.alloc(bytes));
    socket.resume();
  });
}

/** A port of this machine behind which an engine finds a worker. */
export interface Relay {
  /** host:port for llama.cpp. */
  readonly endpoint: string;
  /** Throws ServiceError(rpc_worker_lost) when the worker cannot be used now. */
  check(): Promise<void>;
  /** Why the worker is lost, since the last connection to it; undefined while it is not. */
  loss(): ServiceError | undefined;
  close(): void;
}

/**
 * Opens a relay on the loopback address. Each connection to it becomes one to the worker, with its handshake. Throws
 * ServiceError(rpc_worker_lost) when the worker cannot be used.
 */
export async function openRelay(worker: WorkerAddress): Promise<Relay> {
  const check = async (): Promise<void> => {
    (await dial(worker, "echo")).destroy();
  };
  await check();
  let loss: ServiceError | undefined;
  const sockets = new Set<Socket>();
  const server = createServer({ pauseOnConnect: true }, (engine) => {
    sockets.add(engine);
    engine.on("close", () => sockets.delete(engine)).on("error", () => {});
    dial(worker, "rpc").then(
      (remote) => {
        loss = undefined;
        join(engine, remote, (first) => {
          if (first === remote)
            loss = new ServiceError(
              "rpc_worker_lost",
              `RPC worker ${nameOf(worker)}: the connection to it was lost`,
            );
        });
      },
      (error: ServiceError) => {
        loss = error;
        engine.destroy();
      },
    );
  });
  const port = await listening(server);
  return {
    endpoint: `127.0.0.1:${port}`,
    check,
    loss: () => loss,
    close: () => {
      server.close();
      for (const socket of sockets) socket.destroy();
    },
  };
}

function listening(server: Server): Promise<number> {
  return new Promise((resolve, reject) => {
    server.once("error", reject);
    server.listen(0, "127.0.0.1", () => {
      const address = server.address();
      if (address !== null && typeof address === "object") resolve(address.port);
      else reject(new Error("the relay has no port"));
    });
  });
}
