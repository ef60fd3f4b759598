// Which processors this process may compute on, and how many compute threads they are worth.
// Rejected: rounding a quota down; reading CPUID, which needs a thread on every processor.

import { availableParallelism } from "node:os";
import { join } from "node:path";
import { namesIn, textIn } from "../../src/core/readable.ts";
import { cpuQuota } from "./cpu-quota.ts";

/** Processors as Linux numbers them; two of one core have one set of units that compute. */
export interface Processors {
  /** The usable processors of each usable physical core; cores of full performance first. */
  readonly cores: readonly (readonly number[])[];
  /** Cores of full performance: the others are the small ones of hybrid processors. */
  readonly performanceCores: number;
  /** NUMA nodes with usable processors and usable memory. */
  readonly nodes: readonly MemoryNode[];
}

export interface MemoryNode {
  readonly number: number;
  /** The usable ones. */
  readonly processors: readonly number[];
}

/** A small core is one with less than this share of the largest core's capacity, as the kernel rates it. */
const SMALL_SHARE = 0.5;

let own: Processors | undefined;

/** Those of this process as they were at the first call, which must precede svc_tie_threads; undefined: not Linux. */
export function ownProcessors(): Processors | undefined {
  own ??= readProcessors();
  return own;
}

/**
 * Compute threads of a model without a setting: all meet at barriers, where a second thread of a core gains nothing in a product, a
 * small core is waited for, and a thread without processor time stops the others.
 */
export function defaultThreads(): number {
  const found = ownProcessors();
  return found === undefined ? performanceCores() : threadsOn(found, cpuQuota());
}

/** `quota`: processors' worth of time; a part of one is worth a thread, as measured. */
export function threadsOn({ performanceCores }: Processors, quota: number): number {
  return Math.max(1, Math.min(performanceCores, Math.ceil(quota)));
}

/**
 * The processors that each of `count` compute threads is tied to. Empty: threads are free, because they are fewer than the cores, and the
 * kernel has a choice; with several memory nodes it has that within a node. Fewer than `count`: some threads share a set. A core's second
 * processor is left as a way out for a thread whose first one another program takes.
 */
export function tiesOf(
  { cores, performanceCores, nodes }: Processors,
  count: number,
): readonly (readonly number[])[] {
  if (count < Math.max(2, performanceCores))
    return nodes.length > 1 && count > nodes.length ? nodes.map(({ processors }) => processors) : [];
  if (count < cores.flat().length) return cores.slice(0, count);
  // The first threads of a team compute where fewer are wanted later: on cores of their own.
  const most = Math.max(...cores.map(({ length }) => length));
  return Array.from({ length: most }, (_, nth) => cores.flatMap((core) => core.slice(nth, nth + 1)))
    .flat()
    .map((cpu) => [cpu]);
}

/** Reads /proc and /sys, below `root` in tests; undefined if they do not tell. */
export function readProcessors(root = "/"): Processors | undefined {
  const status = textIn(join(root, "proc/self/status"));
  const allowed = parseList(/^Cpus_allowed_list:\s*(.*)$/m.exec(status)?.[1] ?? "");
  const system = join(root, "sys/devices");
  // The mask may name processors that the machine could have.
  const online = new Set(parseList(textIn(join(system, "system/cpu/online"))));
  const usable = allowed.filter((cpu) => online.has(cpu));
  if (usable.length === 0) return undefined;
  const large = largeProcessors(system, usable);
  const cores = coresOf(system, usable);
  const isLarge = (core: readonly number[]): boolean => core.some((cpu) => large.has(cpu));
  const performance = cores.filter(isLarge);
  return {
    cores: [...performance, ...cores.filter((core) => !isLarge(core))],
    performanceCores: performance.length,
    nodes: nodesOf(system, usable, /^Mems_allowed_list:\s*(.*)$/m.exec(status)?.[1]),
  };
}

/** Groups processors by their core, in the order of their numbers. */
function coresOf(system: string, usable: readonly number[]): readonly (readonly number[])[] {
  const cores = new Map<string, number[]>();
  for (const cpu of usable) {
    const topology = join(system, `system/cpu/cpu${cpu}/topology`);
    // The second is the name before Linux 5.3.
    const key = textIn(join(topology, "core_cpus_list")) || textIn(join(topology, "thread_siblings_list"));
    const core = cores.get(key);
    if (core === undefined || key === "") cores.set(key === "" ? `cpu${cpu}` : key, [cpu]);
    else core.push(cpu);
  }
  return [...cores.values()];
}

/** Those of full performance; all where the kernel knows of no difference, or the process may use small cores only. */
function largeProcessors(system: string, usable: readonly number[]): ReadonlySet<number> {
  // Intel's hybrid processors have a counter unit for each kind of core; elsewhere the kernel rates each one, the largest 1024.
  const counted = new Set(parseList(textIn(join(system, "cpu_core/cpus"))));
  const rate = (cpu: number): number => Number(textIn(join(system, `system/cpu/cpu${cpu}/cpu_capacity`)));
  const least = SMALL_SHARE * Math.max(...usable.map(rate));
  const large = usable.filter((cpu) => (counted.size > 0 ? counted.has(cpu) : rate(cpu) >= least));
  return new Set(large.length > 0 ? large : usable);
}

function nodesOf(
  system: string,
  usable: readonly number[],
  memories: string | undefined,
): readonly MemoryNode[] {
  const folder = join(system, "system/node");
  const own = new Set(usable);
  const withMemory = new Set(parseList(textIn(join(folder, "has_memory"))));
  const permitted = new Set(parseList(memories ?? ""));
  return namesIn(folder)
    .flatMap((name) => /^node(\d+)$/.exec(name)?.[1] ?? [])
    .map((number) => ({
      number: Number(number),
      processors: parseList(textIn(join(folder, `node${number}/cpulist`))).filter((cpu) => own.has(cpu)),
    }))
    .filter(
      ({ number, processors }) => processors.length > 0 && withMemory.has(number) && permitted.has(number),
    )
    .toSorted((a, b) => a.number - b.number);
}

/** A list of the kernel's, such as "0-3,8". */
function parseList(list: string): readonly number[] {
  return [...list.matchAll(/(\d+)(?:-(\d+))?/g)].flatMap(([, first = "", last = first]) =>
    Array.from({ length: Number(last) - Number(first) + 1 }, (_, i) => Number(first) + i),
  );
}

/** Of systems that are not Linux. */
function performanceCores(): number {
  return (process.platform === "darwin" ? applePerformanceCores() : undefined) ?? availableParallelism();
}

function applePerformanceCores(): number | undefined {
  try {
    const words = ["/usr/sbin/sysctl", "-n", "hw.perflevel0.physicalcpu"];
    const output = Bun.spawnSync(words, { stdio: ["ignore", "pipe", "ignore"] }).stdout.toString();
    return Number(output) || undefined; // Intel's have one kind of core
  } catch {
    return undefined;
  }
}
