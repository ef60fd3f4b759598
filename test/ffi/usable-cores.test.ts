// Counting of processors, on machines that are folders, and the memory policy on this one.

import { expect, test } from "bun:test";
import { mkdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { readProcessors, threadsOn, tiesOf } from "../../ffi/linux/usable-cores.ts";
import { tempDir } from "../helpers/tmp.ts";

interface Machine {
  /** Processors of each core. */
  readonly cores: readonly (readonly number[])[];
  readonly nodes?: readonly string[];
  /** cpu_capacity of each processor. */
  readonly capacities?: readonly number[];
  readonly files?: Readonly<Record<string, string>>;
  readonly mask?: string;
  readonly memories?: string;
}

function machine({ cores, nodes, capacities, files, mask, memories = "0-7" }: Machine): string {
  const root = tempDir();
  const write = (path: string, content: string): void => {
    mkdirSync(dirname(join(root, path)), { recursive: true });
    writeFileSync(join(root, path), `${content}\n`);
  };
  const all = cores.flat();
  // A mask of all covers processors that are not there.
  write(
    "proc/self/status",
    `Name:\tx\nCpus_allowed_list:\t${mask ?? "0-1023"}\nMems_allowed_list:\t${memories}`,
  );
  const system = "sys/devices/system";
  write(`${system}/cpu/online`, `0-${Math.max(...all)}`);
  for (const core of cores)
    for (const cpu of core) write(`${system}/cpu/cpu${cpu}/topology/core_cpus_list`, core.join(","));
  for (const [cpu, capacity] of (capacities ?? []).entries())
    write(`${system}/cpu/cpu${cpu}/cpu_capacity`, String(capacity));
  for (const [node, list] of (nodes ?? []).entries()) write(`${system}/node/node${node}/cpulist`, list);
  write(`${system}/node/has_memory`, `0-${(nodes ?? [""]).length - 1}`);
  for (const [path, content] of Object.entries(files ?? {})) write(path, content);
  return root;
}

const pairs = (count: number): number[][] => Array.from({ length: count }, (_, i) => [i, i + count]);
const singles = (count: number): number[][] => Array.from({ length: count }, (_, i) => [i]);

test.each<[string, Machine, number, number[]]>([
  ["one node", { cores: singles(4), nodes: ["0-3"] }, 4, [0]],
  ["two threads a core", { cores: pairs(8), nodes: ["0-15"] }, 8, [0]],
  ["a mask of both threads of one core", { cores: pairs(8), mask: "3,11" }, 1, []],
  ["a mask of one thread of each of three cores", { cores: pairs(8), mask: "0-1,10" }, 3, []],
  ["two sockets", { cores: pairs(64), nodes: ["0-31,64-95", "32-63,96-127"] }, 64, [0, 1]],
  [
    "the mask of a socket",
    { cores: pairs(64), nodes: ["0-31,64-95", "32-63,96-127"], mask: "32-63,96-127" },
    32,
    [1],
  ],
  ["memory of one socket", { cores: singles(4), nodes: ["0-1", "2-3"], memories: "0" }, 4, [0]],
  ["a node of memory alone", { cores: singles(4), nodes: ["0-1", "2-3", ""] }, 4, [0, 1]],
  [
    "large and small cores of one maker",
    {
      cores: [[0, 1], [2, 3], [4], [5]],
      files: { "sys/devices/cpu_core/cpus": "0-3", "sys/devices/cpu_atom/cpus": "4-5" },
    },
    2,
    [],
  ],
  [
    "small cores alone",
    {
      cores: [[0, 1], [2], [3]],
      mask: "2-3",
      files: { "sys/devices/cpu_core/cpus": "0-1", "sys/devices/cpu_atom/cpus": "2-3" },
    },
    2,
    [],
  ],
  [
    "large and small cores by their capacity",
    { cores: singles(8), capacities: [380, 380, 380, 380, 1024, 1024, 870, 870] },
    4,
    [],
  ],
])("counts cores and nodes: %s", (_what, made, cores, nodes) => {
  const found = readProcessors(machine(made));
  expect(found?.performanceCores).toBe(cores);
  expect(found?.nodes.map(({ number }) => number)).toEqual(nodes);
});

test("cores of full performance come first", () => {
  const capacities = [400, 400, 1024, 1024];
  expect(readProcessors(machine({ cores: singles(4), capacities }))?.cores).toEqual([[2], [3], [0], [1]]);
});

test("without /proc or /sys nothing is known", () => {
  expect(readProcessors(tempDir())).toBeUndefined();
});

test.each([
  [64, Infinity, 64],
  [64, 2, 2],
  [64, 2.5, 3],
  [2, 8, 2],
  [2, 0.1, 1],
])("%d cores within a quota of %d: %d threads", (performanceCores, quota, threads) => {
  expect(threadsOn({ cores: [], nodes: [], performanceCores }, quota)).toBe(threads);
});

test.each<[string, number[][], number, number, number[][]]>([
  [
    "a core each",
    [
      [0, 2],
      [1, 3],
    ],
    2,
    2,
    [
      [0, 2],
      [1, 3],
    ],
  ],
  [
    "fewer than the cores: none",
    [
      [0, 2],
      [1, 3],
    ],
    2,
    1,
    [],
  ],
  [
    "a processor each, those of different cores first",
    [
      [0, 1],
      [2, 3],
    ],
    2,
    4,
    [[0], [2], [1], [3]],
  ],
  [
    "more threads than cores share them",
    [
      [0, 2],
      [1, 3],
    ],
    2,
    3,
    [
      [0, 2],
      [1, 3],
    ],
  ],
  ["large cores first", [[4], [5], [0], [1]], 2, 3, [[4], [5], [0]]],
  ["a single thread: none", [[0]], 1, 1, []],
])("ties compute threads: %s", (_what, cores, performanceCores, count, ties) => {
  expect(tiesOf({ cores, nodes: [], performanceCores }, count)).toEqual(ties);
});

test("fewer threads than cores are tied to memory nodes in turn", () => {
  const nodes = ["0-1,4-5", "2-3,6-7"];
  const found = readProcessors(machine({ cores: pairs(4), nodes, mask: "0-6" }));
  const ties = (count: number): unknown => found && tiesOf(found, count);
  expect(ties(3)).toEqual([
    [0, 1, 4, 5],
    [2, 3, 6],
  ]);
  expect(ties(2)).toEqual([]);
  expect(ties(4)).toEqual([[0, 4], [1, 5], [2, 6], [3]]);
});
