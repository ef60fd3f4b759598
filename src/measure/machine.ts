// Measures memory and cores of this machine in a process of its own: the libraries belong to no process that serves.

import type { MachineReport } from "../core/measure.ts";
import { ownCommand } from "../core/own-command.ts";
import { runProgram } from "../core/run-program.ts";

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
  const { modelPath = "", threads, cacheDir, bytes } = request;
  const words = [modelPath, String(threads), String(MILLISECONDS), cacheDir, String(bytes ?? "")];
  const command = [...ownCommand(), "machine-speed", ...words];
  const { out, err, code } = await runProgram(command, signal, "pipe");
  if (code !== 0) throw new Error(err.trim() === "" ? `it exited with code ${code}` : err.trim());
  const report: MachineReport = JSON.parse(out); // printed by src/worker/machine-speed.ts
  return report;
}
