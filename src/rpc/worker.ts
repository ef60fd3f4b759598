// The serving half of `svc rpc-worker`: checks each client and connects it to the process with the devices.

import { connect, createServer, type Server, type Socket } from "node:net";
import { createServer as createTlsServer } from "node:tls";
import { greetingLine, newNonce, provenMode } from "./handshake.ts";
import { CLIENTS_MAX, ECHO_MS } from "./limits.ts";
import { join, readLine } from "./line.ts";

export interface WorkerOptions {
  readonly host: string;
  /** 0: any free port. */
  readonly port: number;
  /** Empty: clients need none. */
  readonly token: string;
  /** PEM; absent: without TLS. */
  readonly tls?: { readonly cert: string; readonly key: string };
  /** Release of the native libraries of this svc. */
  readonly release: string;
  /** Port on 127.0.0.1 of a running process with the devices; starts one if none runs. */
  readonly devicePort: () => Promise<number>;
  readonly log: (line: string) => void;
}

export interface RpcWorker {
  readonly port: number;
  close(): void;
}

/** Listens for clients. Rejects with the system's error when the address cannot be had. */
export async function startWorker(options: WorkerOptions): Promise<RpcWorker> {
  const { host, port, tls } = options;
  const sockets = new Set<Socket>();
  let busy: Socket | undefined; // llama.cpp's server takes one client at a time
  const welcome = (socket: Socket): void => {
    sockets.add(socket);
    const from = socket.remoteAddress ?? "unknown address";
    socket.on("error", () => {}).on("close", () => sockets.delete(socket));
    serve(socket, options, () => {
      if (busy !== undefined) return false;
      busy = socket;
      socket.on("close", () => (busy = undefined));
      return true;
    }).then(
      (refusal) => {
        if (refusal !== undefined) options.log(`${from}: refused: ${refusal}`);
      },
      (error: unknown) => {
        options.log(`${from}: ${error instanceof Error ? error.message : String(error)}`);
        socket.destroy();
      },
    );
  };
  const server: Server = tls === undefined ? createServer(welcome) : createTlsServer({ ...tls }, welcome);
  server.maxConnections = CLIENTS_MAX;
  await new Promise<void>((resolve, reject) => {
    server.once("error", reject);
    server.listen(port, host, resolve);
  });
  const address = server.address();
  return {
    port: address !== null && typeof address === "object" ? address.port : port,
    close: () => {
      server.close();
      for (const socket of sockets) socket.destroy();
    },
  };
}

/** One client, to the point where its bytes are relayed. Returns the reason where it is refused. */
async function serve(
  socket: Socket,
  options: WorkerOptions,
  claim: () => boolean,
): Promise<string | undefined> {
  const { release, token, devicePort } = options;
  const nonce = newNonce();
  const refuse = (reason: string): string => {
    socket.write(`refused ${reason}\n`);
    socket.destroySoon(); // a client that stays must not keep its connection
    return reason;
  };
  socket.write(`${greetingLine({ release, nonce })}\n`);
  const mode = provenMode(await readLine(socket), nonce, token);
  if (mode === undefined) return refuse("the token is wrong or missing (--rpc-token-source)");
  if (mode === "echo") {
    socket.setTimeout(ECHO_MS, () => socket.destroy());
    socket.write("ok\n");
    socket.pipe(socket);
    return undefined;
  }
  if (!claim()) return refuse("it serves another engine");
  const devices = connect({ host: "127.0.0.1", port: await devicePort() });
  await new Promise((resolve, reject) => devices.once("connect", resolve).once("error", reject));
  socket.write("ok\n");
  join(socket, devices);
  return undefined;
}
