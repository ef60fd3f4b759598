// Describes the machine of a measurement.

import { readFileSync } from "node:fs";
import { availableParallelism, totalmem } from "node:os";
import { execText } from "./exec.ts";
import { ROOT, SVC } from "./peer.ts";

const CPUINFO = readFileSync("/proc/cpuinfo", "utf8");

/** Default compute threads of every server and tool: the default of both servers. */
export const THREADS = physicalCores();

function physicalCores(): number {
  const cores = CPUINFO.split("\n\n")
    .filter((block) => block.includes("core id"))
    .map((block) => `${field(block, "physical id")}/${field(block, "core id")}`);
  const counted = new Set(cores).size;
  // A container may have fewer than the machine.
  return Math.min(counted === 0 ? availableParallelism() : counted, availableParallelism());
}

function field(block: string, name: string): string {
  return new RegExp(`^${name}\\s*: (.*)$`, "m").exec(block)?.[1] ?? "unknown";
}

/** One line: processor, threads, memory, commit, the executable itself (it may be older than the commit), any peer. */
export async function machineLine(release: string | undefined, threads: number): Promise<string> {
  const commit = (await execText(["git", "describe", "--always", "--dirty", "--abbrev=10"], ROOT)).trim();
  const memory = `${Math.round(totalmem() / 2 ** 30)} GiB`;
  const cpu = `${field(CPUINFO, "model name")} (family ${field(CPUINFO, "cpu family")})`;
  const svc = new Bun.CryptoHasher("sha256").update(readFileSync(SVC)).digest("hex").slice(0, 10);
  const day = new Date().toISOString().slice(0, 10);
  const peer = release === undefined ? "" : `; llama-server from ${release}`;
  return `${cpu}, ${threads} threads, ${memory}; svc ${commit} (executable ${svc})${peer}; ${day}`;
}
