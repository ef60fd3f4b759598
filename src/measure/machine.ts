// Measures memory and cores of this machine in a process of its own: the libraries belong to no process that serves.

import type { MachineReport } from "../core/measure.ts";
import { ownCommand } from "../core/own-command.ts";

export interface MachineRequest {
  /** Absent: the built-in model. */
  readonly modelPath?: string;
  readonly threads: number;
  /** Folder of unpacked native libraries. */
  readonly cacheDir: string;
  /** Bytes that are read again and again; absent: what the model reads for a token. */
  readonly bytes?: number;
}

/** Of each of two measurements, which are repeated beside every run of a bench. */
const MILLISECONDS = 250;

/** Throws an Error with the reason; an abort kills the process and rejects with the signal's reason. */
export async function measureMachine(request: MachineRequest, signal: AbortSignal): Promise<MachineReport> {
  signal.throwIfAborted();
  const { modelPath = "", threads, cacheDir, bytes } = request;
  const words = [modelPath, String(threads), String(MILLISECONDS), cacheDir, String(bytes ?? "")];
  const child = Bun.spawn([...ownCommand(), "machine-speed", ...words], {
    stdio: ["ignore", "pipe", "pipe", "pipe"], // the last one: core/parent-pipe.ts
    signal,
  });
  const [text, reason, code] = await Promise.all([
    new Response(child.stdout).text(),
    new Response(child.stderr).text(),
    child.exited,
  ]);
  signal.throwIfAborted();
  if (code !== 0) throw new Error(reason.trim() === "" ? `it exited with code ${code}` : reason.trim());
  const report: MachineReport = JSON.parse(text); // printed by src/worker/machine-speed.ts
  return report;
}
