// Describes the machine of a measurement.

import { readFileSync } from "node:fs";
import { totalmem } from "node:os";
import { defaultThreads } from "../ffi/linux/usable-cores.ts";
import { execText } from "./exec.ts";
import { ROOT, SVC } from "./peer.ts";

const CPUINFO = readFileSync("/proc/cpuinfo", "utf8");

/** Default compute threads of every server and tool: the default of both servers. */
export const THREADS = defaultThreads();

function field(block: string, name: string): string {
  return new RegExp(`^${name}\\s*: (.*)$`, "m").exec(block)?.[1] ?? "unknown";
}

/** What was measured where. */
export interface Machine {
  readonly processor: string;
  readonly memory: string;
  readonly commit: string;
  /** Hash of the executable: it may be older than the commit. */
  readonly executable: string;
}

export async function describeMachine(): Promise<Machine> {
  const described = execText(["git", "describe", "--always", "--dirty", "--abbrev=10"], ROOT);
  const commit = (await described.catch(() => "of an unknown commit")).trim(); // a copy without .git
  return {
    processor: `${field(CPUINFO, "model name")} (family ${field(CPUINFO, "cpu family")}), ${widestVectors()}`,
    memory: `${Math.round(totalmem() / 2 ** 30)} GiB`,
    commit,
    executable: new Bun.CryptoHasher("sha256").update(readFileSync(SVC)).digest("hex").slice(0, 10),
  };
}

/** The widest instructions that the kernels are written for. */
function widestVectors(): string {
  const flags = field(CPUINFO, "flags").split(" ");
  const names = { amx_int8: "AMX", avx512_vnni: "AVX512-VNNI", avx_vnni: "AVX-VNNI", avx2: "AVX2" };
  return Object.entries(names).find(([flag]) => flags.includes(flag))?.[1] ?? "no AVX2";
}

/** One line: processor, threads, memory, commit, executable, any peer. */
export async function machineLine(release: string | undefined, threads: number): Promise<string> {
  const { processor, memory, commit, executable } = await describeMachine();
  const day = new Date().toISOString().slice(0, 10);
  const peer = release === undefined ? "" : `; llama-server from ${release}`;
  return `${processor}, ${threads} threads, ${memory}; svc ${commit} (executable ${executable})${peer}; ${day}`;
}
