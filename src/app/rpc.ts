// RPC workers: those that the configuration names, and `svc rpc-worker` itself.

import { readFileSync } from "node:fs";
import { defaultThreads } from "../../ffi/linux/usable-cores.ts";
import { installedBackends } from "../backends/store.ts";
import { RELEASE } from "../backends/catalog.ts";
import type { ModelSettings } from "../config/settings.ts";
import { processEnvironment } from "../config/sources.ts";
import { defined } from "../core/defined.ts";
import type { ErrorData } from "../core/error.ts";
import type { DoctorCheck } from "../core/system.ts";
import { ownCommand } from "../core/own-command.ts";
import { reasonOf } from "../core/reason.ts";
import { readSecret } from "../core/secret.ts";
import { StartError } from "../core/start-error.ts";
import { ENGINE_ENVIRONMENT } from "../engine/host.ts";
import type { RpcWorkerCommand } from "../rpc/command.ts";
import { measureWorker, nameOf, openRelay, type Relay, type WorkerAddress } from "../rpc/dial.ts";
import { parseEndpoint } from "../core/endpoint.ts";
import { DeviceProcess } from "../rpc/devices.ts";
import { startWorker } from "../rpc/worker.ts";

/** The token of a source; empty without one. Throws StartError for a source that has none. */
function tokenOf(source: string | undefined, setting: string): string {
  if (source === undefined) return "";
  const token = readSecret(source, processEnvironment());
  if (token !== undefined) return token;
  throw new StartError(`${setting}: ${source} has no token. Set it, or leave ${setting} out.`);
}

/** The workers of a model's entry; none where it stays on the CPU. config/ has checked their form. */
function workersOf({ device }: ModelSettings): readonly WorkerAddress[] {
  const { cpu, rpc = [], rpc_token_source: source, rpc_ca: ca } = device;
  if (cpu || rpc.length === 0) return [];
  const shared = {
    token: tokenOf(source, "rpc_token_source"),
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
  const checks = models.flatMap((model) => {
    try {
      return workersOf(model).map(rpcCheck);
    } catch (error) {
      return [Promise.resolve(failedCheck("rpc", error))];
    }
  });
  return Promise.all(checks);
}

async function rpcCheck(worker: WorkerAddress): Promise<DoctorCheck> {
  const name = `rpc ${nameOf(worker)}`;
  try {
    const { roundTripMs, megabytesPerSecond } = await measureWorker(worker);
    // Each token of a sequence passes every worker once, there and back.
    const detail = `${roundTripMs.toFixed(1)} ms a round trip, ${megabytesPerSecond.toFixed(0)} MB/s: loading takes ${(1000 / megabytesPerSecond).toFixed(0)} s a gigabyte, and each token at least ${roundTripMs.toFixed(1)} ms longer`;
    return { name, status: "pass", detail, fix: null };
  } catch (error) {
    return failedCheck(name, error);
  }
}

function failedCheck(name: string, error: unknown): DoctorCheck {
  const fix = "Correct [models.device] rpc and its token, or start the worker.";
  return { name, status: "fail", detail: reasonOf(error), fix };
}

/** Runs `svc rpc-worker` until `stopped`. Throws StartError for what the user can mend. */
export async function runRpcWorker(
  command: RpcWorkerCommand,
  { cacheDir, log, stopped }: { cacheDir: string; log: (line: string) => void; stopped: Promise<void> },
): Promise<void> {
  const token = tokenOf(command.tokenSource, "--token-source");
  if (token === "" && !["127.0.0.1", "::1", "localhost"].includes(command.host))
    throw new StartError(
      `rpc-worker: other machines can reach ${command.host}, so a token is required. Set --token-source env:NAME or path:FILE, here and as rpc_token_source in their configuration.`,
    );
  const backends = JSON.stringify(installedBackends(cacheDir));
  const threads = String(command.threads ?? defaultThreads());
  const devices = new DeviceProcess({
    words: (endpoint) => [...ownCommand(), "rpc-devices", endpoint, threads, cacheDir, backends],
    environment: { ...ENGINE_ENVIRONMENT, ...processEnvironment() },
  });
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
    log(`Offering this machine's devices on ${command.host}:${worker.port}. Press Ctrl-C to stop.`);
    await stopped;
    worker.close();
  } catch (error) {
    if (error instanceof StartError || !(error instanceof Error)) throw error;
    throw new StartError(`rpc-worker: cannot listen on ${command.host}:${command.port}: ${error.message}`);
  } finally {
    devices.stop();
  }
}

function tlsOf({ tlsCert, tlsKey }: RpcWorkerCommand) {
  if (tlsCert === undefined && tlsKey === undefined) return undefined;
  if (tlsCert === undefined || tlsKey === undefined)
    throw new StartError("rpc-worker: --tls-cert and --tls-key require each other.");
  try {
    return { cert: readFileSync(tlsCert, "utf8"), key: readFileSync(tlsKey, "utf8") };
  } catch (error) {
    throw new StartError(`rpc-worker: ${reasonOf(error)}`, { cause: error });
  }
}
