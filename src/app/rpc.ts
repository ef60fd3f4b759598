// RPC workers: those that the configuration names, and `svc rpc-worker` itself.

import { readFileSync } from "node:fs";
import { createServer, connect } from "node:net";
import { installedBackends } from "../backends/store.ts";
import { RELEASE } from "../backends/catalog.ts";
import type { ModelSettings } from "../config/settings.ts";
import { processEnvironment } from "../config/sources.ts";
import { defined } from "../core/defined.ts";
import type { ErrorData } from "../core/error.ts";
import type { DoctorCheck } from "../core/system.ts";
import { ownCommand } from "../core/own-command.ts";
import { StartError } from "../core/start-error.ts";
import { ENGINE_ENVIRONMENT } from "../engine/host.ts";
import { hubPlace } from "../hub/place.ts";
import { readToken } from "../hub/token.ts";
import type { RpcWorkerCommand } from "../rpc/command.ts";
import { measureWorker, nameOf, openRelay, type Relay, type WorkerAddress } from "../rpc/dial.ts";
import { parseEndpoint } from "../core/endpoint.ts";
import { startWorker } from "../rpc/worker.ts";

/** Time for the process with the devices to listen, milliseconds. */
const DEVICES_MS = 60_000;
const DEVICES_POLL_MS = 50;

function tokenOf(source: string | undefined): string {
  if (source === undefined) return "";
  const environment = processEnvironment();
  return readToken(source, hubPlace(environment), environment) ?? "";
}

/** The workers of a model's entry; none where it stays on the CPU. config/ has checked their form. */
function workersOf({ device }: ModelSettings): readonly WorkerAddress[] {
  const { cpu, rpc = [], rpc_token_source: source, rpc_ca: ca } = device;
  if (cpu || rpc.length === 0) return [];
  const shared = {
    token: tokenOf(source),
    release: RELEASE,
    ...(ca === undefined ? {} : { ca: readFileSync(ca, "utf8") }),
  };
  return rpc.flatMap((text) => {
    const endpoint = parseEndpoint(text);
    return endpoint === undefined ? [] : [{ ...endpoint, ...shared }];
  });
}

/** The relays of one model, opened at its first load and kept for the next ones. */
export interface ModelRelays {
  /** Endpoints for an engine. Throws ServiceError(rpc_worker_lost) when a worker cannot be used now. */
  endpoints(): Promise<readonly string[]>;
  /** Why an engine of the model has just died; undefined where no worker is to blame. */
  loss(): ErrorData | undefined;
}

/** Relays to the workers of a model's entry. */
export function newRelays(model: ModelSettings): ModelRelays {
  let relays: readonly Relay[] | undefined;
  return {
    endpoints: async () => {
      if (relays === undefined) relays = await Promise.all(workersOf(model).map(openRelay));
      else await Promise.all(relays.map((relay) => relay.check()));
      return relays.map(({ endpoint }) => endpoint);
    },
    loss: () => relays?.map((relay) => relay.loss()?.toData()).find((data) => data !== undefined),
  };
}

/** The doctor's checks of all workers: reachable, and how fast the way to them is. */
export function rpcChecks(models: readonly ModelSettings[]): Promise<readonly DoctorCheck[]> {
  const workers = new Map(models.flatMap(workersOf).map((worker) => [nameOf(worker), worker]));
  return Promise.all([...workers.values()].map(rpcCheck));
}

async function rpcCheck(worker: WorkerAddress): Promise<DoctorCheck> {
  const name = `rpc ${nameOf(worker)}`;
  try {
    const { roundTripMs, megabytesPerSecond } = await measureWorker(worker);
    // Each token of a sequence passes every worker once, there and back.
    const detail = `${roundTripMs.toFixed(1)} ms a round trip, ${megabytesPerSecond.toFixed(0)} MB/s: loading takes ${(1000 / megabytesPerSecond).toFixed(0)} s a gigabyte, and each token at least ${roundTripMs.toFixed(1)} ms longer`;
    return { name, status: "pass", detail, fix: null };
  } catch (error) {
    const detail = error instanceof Error ? error.message : String(error);
    return { name, status: "fail", detail, fix: "Mend the worker, or take it out of [models.device] rpc." };
  }
}

/** Runs `svc rpc-worker` until `stopped`. Throws StartError for what the user can mend. */
export async function runRpcWorker(
  command: RpcWorkerCommand,
  { cacheDir, log, stopped }: { cacheDir: string; log: (line: string) => void; stopped: Promise<void> },
): Promise<void> {
  const token = tokenOf(command.tokenSource);
  if (token === "" && !["127.0.0.1", "::1", "localhost"].includes(command.host))
    throw new StartError(
      `rpc-worker: ${command.host} can be reached by other machines, so clients must prove a token. Set --token-source env:NAME or path:FILE, here and as rpc_token_source in their configuration.`,
    );
  const devices = new DeviceProcess(cacheDir, command.threads);
  try {
    const worker = await startWorker({
      host: command.host,
      port: command.port,
      token,
      release: RELEASE,
      ...defined({ tls: tlsOf(command) }),
      devicePort: () => devices.port(),
      log,
    });
    log(`Offering this machine's devices on ${command.host}:${worker.port}. Press Ctrl-C to end.`);
    await stopped;
    worker.close();
  } catch (error) {
    if (error instanceof StartError || !(error instanceof Error)) throw error;
    throw new StartError(
      `rpc-worker: ${command.host}:${command.port} cannot be listened on: ${error.message}`,
    );
  } finally {
    devices.stop();
  }
}

function tlsOf({ tlsCert, tlsKey }: RpcWorkerCommand) {
  if (tlsCert === undefined && tlsKey === undefined) return undefined;
  if (tlsCert === undefined || tlsKey === undefined)
    throw new StartError("rpc-worker: --tls-cert and --tls-key belong together.");
  return { cert: readFileSync(tlsCert, "utf8"), key: readFileSync(tlsKey, "utf8") };
}

/** The process with the devices, started for the first client and again after it has died. */
class DeviceProcess {
  private readonly words: (endpoint: string) => readonly string[];
  private running: Promise<number> | undefined;
  private child: ReturnType<typeof Bun.spawn> | undefined;

  constructor(cacheDir: string, threads: number) {
    const backends = JSON.stringify(installedBackends(cacheDir));
    this.words = (endpoint) => [...ownCommand(), "rpc-devices", endpoint, `${threads}`, cacheDir, backends];
  }

  /** Its port on 127.0.0.1, once it listens there. */
  port(): Promise<number> {
    return (this.running ??= this.start());
  }

  stop(): void {
    this.child?.kill("SIGKILL");
  }

  private async start(): Promise<number> {
    const port = await freePort();
    this.child = Bun.spawn([...this.words(`127.0.0.1:${port}`)], {
      stdio: ["ignore", "ignore", "inherit", "pipe"], // the last one: core/parent-pipe.ts
      env: { ...ENGINE_ENVIRONMENT, ...processEnvironment() },
      onExit: () => (this.running = undefined),
    });
    const { child } = this;
    const deadline = performance.now() + DEVICES_MS;
    while (child.exitCode === null && performance.now() < deadline) {
      if (await accepts(port)) return port;
      await Bun.sleep(DEVICES_POLL_MS);
    }
    child.kill("SIGKILL");
    throw new Error("the process with the devices did not start");
  }
}

function freePort(): Promise<number> {
  return new Promise((resolve) => {
    const server = createServer().listen(0, "127.0.0.1", () => {
      const address = server.address();
      server.close(() => resolve(address !== null && typeof address === "object" ? address.port : 0));
    });
  });
}

function accepts(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect({ host: "127.0.0.1", port });
    socket.once("connect", () => {
      socket.destroy();
      resolve(true);
    });
    socket.once("error", () => resolve(false));
  });
}
