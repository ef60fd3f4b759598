// Listeners of the server, the MCP endpoint and Ollama's port: opens and drains them.

import { isIP } from "node:net";
import { networkInterfaces } from "node:os";
import type { Settings } from "../config/settings.ts";
import { itemAt } from "../core/assert.ts";
import { defined } from "../core/defined.ts";
import { inUrl, isAbsent, listenAddresses, SOCKET_PREFIX, socketPathOf } from "../core/listen-addresses.ts";
import { codeOf, reasonOf } from "../core/reason.ts";
import { StartError } from "../core/start-error.ts";
import type { HttpDeps } from "../http/deps.ts";
import { createMcp } from "../http/mcp/server.ts";
import { createHttp, type Handler, listen, type Listening } from "../http/server.ts";
import {
  FLUSH_LOOKS,
  FLUSH_MS,
  FREE_PORT_ATTEMPTS_MAX,
  LOOK_MS,
  QUIET_LOOKS,
  STOP_LOOKS,
  STOP_MS_MAX,
} from "./limits.ts";

/** The listening servers. */
export interface Listeners {
  readonly server: Listening;
  readonly mcpServer?: Listening | undefined;
  readonly ollamaServer?: Listening | undefined;
}

/** Ports of the listeners. */
export function portsOf({ server, mcpServer, ollamaServer }: Listeners) {
  return {
    port: server.port,
    ...defined({ mcpPort: mcpServer?.port, ollamaPort: ollamaServer?.port }),
  };
}

/** The server itself and, where they are asked for, the MCP endpoint and Ollama's port. Without its MCP endpoint it does not listen. */
export function listenAll(
  deps: HttpDeps,
  { server: { host, port, mcp_port, ollama_port, socket_mode } }: Settings,
): Listeners {
  const app = createHttp(deps);
  const path = socketPathOf(host);
  if (path !== undefined) return { server: listenAtSocket(app, { path, mode: parseInt(socket_mode, 8) }) };
  const server = listenOrSay(app, { host, port, flag: "--port" });
  try {
    return {
      server,
      ...(mcp_port === undefined
        ? {}
        : {
            mcpServer: listenOrSay(createMcp({ ...deps, host }), {
              host,
              port: mcp_port,
              flag: "--mcp-port",
            }),
          }),
      ...(ollama_port === undefined ? {} : listenForOllama(app, { host, port: ollama_port }, deps.log)),
    };
  } catch (error) {
    void server.stop(true);
    throw error;
  }
}

/** The same application on Ollama's port. Taken, as by Ollama itself, it is only warned of: the main port has all routes too. */
function listenForOllama(
  app: Handler,
  place: Omit<Place, "flag">,
  log: (line: string) => void,
): Pick<Listeners, "ollamaServer"> {
  try {
    return { ollamaServer: listenOrSay(app, { ...place, flag: "--ollama-port" }) };
  } catch (error) {
    log(`warning: ${reasonOf(error)} Ollama's clients can use the main port.`);
    return {};
  }
}

/** Listens at a file that is a UNIX socket. Bun removes it when the server stops. */
function listenAtSocket(
  handler: Handler,
  socket: { readonly path: string; readonly mode: number },
): Listening {
  try {
    return listen(handler, { hostname: SOCKET_PREFIX + socket.path, port: 0, socket });
  } catch (error) {
    const problem = SOCKET_PROBLEMS[codeOf(error)] ?? reasonOf(error);
    throw new StartError(`cannot listen on ${SOCKET_PREFIX}${socket.path}: ${problem}`, { cause: error });
  }
}

const SOCKET_PROBLEMS: Readonly<Record<string, string>> = {
  EACCES: "its folder is not writable. Choose another with --host unix:PATH.",
  EADDRINUSE: "another program has it. Choose another with --host unix:PATH.",
  ENAMETOOLONG: "a socket's path has at most 107 bytes. Choose a shorter one with --host unix:PATH.",
  ENOENT: "its folder does not exist. Make it, or choose another with --host unix:PATH.",
  ENOTDIR: "its folder is a file. Choose another with --host unix:PATH.",
  EROFS: "its file system is read-only. Choose another with --host unix:PATH.",
};

interface Place {
  readonly host: string;
  readonly port: number;
  /** Flag that sets the port. */
  readonly flag: string;
}

/** Listens on all addresses that belong to the configured one. Throws StartError where another program has one of them. */
function listenOrSay(handler: Handler, place: Place): Listening {
  for (let attempt = 1; ; attempt++) {
    const open: Listening[] = [];
    try {
      for (const host of listenAddresses(place.host)) listenBeside(handler, { ...place, host }, open);
      return together(open);
    } catch (error) {
      for (const one of open) void one.stop(true);
      // A port that the system chose can be free on the first address and taken on the second.
      const isChosen = place.port === 0 && open.length > 0 && attempt < FREE_PORT_ATTEMPTS_MAX;
      if (!isChosen) throw error;
    }
  }
}

/** Listens on one more address, with the port of the first. */
function listenBeside(handler: Handler, place: Place, open: Listening[]): void {
  const port = open[0]?.port ?? place.port;
  try {
    open.push(listen(handler, { hostname: place.host, port }));
  } catch (error) {
    if (open.length > 0 && isAbsent(codeOf(error))) return; // no IPv6 here, or no IPv4
    const problem = listenProblem(error, place);
    throw new StartError(`cannot listen on ${inUrl(place.host)}:${port}: ${problem}`, { cause: error });
  }
}

/** Several listeners as one. */
function together(all: readonly Listening[]): Listening {
  const first = itemAt(all, 0);
  return {
    hostname: first.hostname,
    port: first.port,
    stop: async (cutConnections) => void (await Promise.all(all.map((one) => one.stop(cutConnections)))),
  };
}

/** Why listening failed, and the fix. */
function listenProblem(error: unknown, { host, flag }: Place): string {
  const code = codeOf(error);
  // Which code a name gives that no resolver knows depends on the machine's resolvers.
  const isUnknownName = isIP(host) === 0 && (code === "ENOENT" || code === "ENOTFOUND" || code === "EINVAL");
  if (isUnknownName)
    return "the host name is unknown. Use --host 0.0.0.0 for all addresses, or an address of this machine.";
  switch (code) {
    case "EADDRNOTAVAIL": {
      const own = Object.values(networkInterfaces()).flatMap((all) =>
        (all ?? []).map(({ address }) => address),
      );
      return `${host} is not an address of this machine. Use --host 0.0.0.0 for all addresses, or one of: ${own.join(", ")}.`;
    }
    case "EACCES":
      return `ports below 1024 need root. Choose another with ${flag}.`;
    case "EADDRINUSE":
      return `it is in use by another program. Choose another with ${flag}.`;
    default:
      return `${reasonOf(error)}. Choose another with ${flag}.`;
  }
}

interface DrainOptions {
  readonly isBusy: () => boolean;
  readonly drainMs: number;
  readonly log: (line: string) => void;
}

/**
 * Waits for running requests up to the deadline, then ends everything; false if something did not end. A request that was sent
 * before the signal may be read after it, and is answered: the server must be quiet for several looks.
 */
export async function drain(
  servers: readonly Listening[],
  { isBusy, drainMs, log }: DrainOptions,
  stop: () => Promise<unknown>,
): Promise<boolean> {
  const deadline = performance.now() + drainMs;
  let quiet = 0;
  await waitFor(() => (quiet = isBusy() ? 0 : quiet + 1) > QUIET_LOOKS, drainMs, QUIET_LOOKS);
  const leftMs = (): number => Math.max(0, deadline - performance.now());
  const cut = async (): Promise<void> => {
    await stop();
    // An answer that is complete may still be on its way to a slow reader, and one that was not learns so from its last frame.
    const flushed = settled(Promise.all(servers.map((server) => server.stop(false))));
    await waitFor(flushed, Math.max(FLUSH_MS, leftMs()), FLUSH_LOOKS);
    await Promise.all(servers.map((server) => server.stop(true)));
  };
  const isOver = await endsWithin(leftMs() + STOP_MS_MAX, cut());
  // The process ends then, and its children with it.
  if (!isOver) log("warning: not everything stopped in time; it ends with the server");
  return isOver;
}

/** Waits for what stops, but not for what never ends: whether it did. */
export async function endsWithin(ms: number, stopped: Promise<void>): Promise<boolean> {
  if (!(await waitFor(settled(stopped), ms, STOP_LOOKS))) return false;
  await stopped;
  return true;
}

/**
 * Waits until a condition holds, for at least a time and a number of looks: a process that gets no processor has done nothing in a time in which
 * others could have. Returns whether it holds.
 */
async function waitFor(isSo: () => boolean, ms: number, looks: number): Promise<boolean> {
  const deadline = performance.now() + ms;
  for (let look = 0; look < looks || performance.now() < deadline; look++) {
    if (isSo()) return true;
    await Bun.sleep(LOOK_MS);
  }
  return isSo();
}

/** Whether a promise has an outcome. */
function settled(promise: Promise<unknown>): () => boolean {
  let is = false;
  const settle = (): void => void (is = true);
  promise.then(settle, settle);
  return () => is;
}
