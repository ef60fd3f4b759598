import { afterAll, expect, test } from "bun:test";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Cells, readCells } from "../../bench/cells.ts";
import type { Machine } from "../../bench/machine.ts";
import type { RowTask, SideRow } from "../../bench/measure.ts";
import type { Measurement } from "../../bench/report.ts";
import { SCENARIOS } from "../../bench/scenarios.ts";
import { sections } from "../../bench/tables.ts";

const folder = mkdtempSync(join(tmpdir(), "svc-cells-"));
afterAll(() => rmSync(folder, { recursive: true }));

const MACHINE: Machine = { processor: "a processor", memory: "1 GiB", commit: "abc", executable: "one" };
const [SCENARIO] = SCENARIOS;
if (SCENARIO === undefined) throw new Error("there are no scenarios");

const TASK: RowTask = {
  model: "nano",
  modelPath: "",
  scenario: SCENARIO,
  streams: 1,
  sides: ["svc", "other"],
  pairs: 1,
  threads: 2,
  longTokens: 1,
  quick: false,
};

function measurement(tokensPerSecond: number): Measurement {
  const load = { tokensPerSecond, promptTokensPerSecond: 1, tokens: 1, warmupTokens: 0, ttftP50Ms: 1 };
  const rest = { ttftP95Ms: 1, itlP50Ms: 1, itlP95Ms: 1, itlEndMs: 1, clientCpuSeconds: 0, seconds: 1 };
  const counts = { errors: 0, resets: 0, promptTokens: 1, answerTokensMin: 1, answerTokensMax: 1 };
  return {
    load: { ...load, ...rest, ...counts },
    memory: { rssBytes: 2 ** 20, pssBytes: 2 ** 20 },
    serverCpuSeconds: 1,
    otherProcessesShare: 0,
  };
}

function rows(tokensPerSecond: number, { sides: [first, ...others] }: RowTask = TASK): readonly SideRow[] {
  const side = [measurement(tokensPerSecond)];
  const row = { model: "nano", scenario: SCENARIO?.name ?? "", streams: 1, left: side, right: side };
  return others.map((other) => ({ sides: [first, other], row }));
}

const speedsOf = (list: readonly SideRow[]): readonly unknown[] =>
  list.map(({ sides, row }) => [sides[1], row.left[0]?.load.tokensPerSecond]);

const unexpected = (): Promise<readonly SideRow[]> => Promise.reject(new Error("measured again"));

test("a resumed run takes only rows of the same executable, processor and settings", async () => {
  const path = join(folder, "resume.jsonl");
  const first = new Cells(path, MACHINE);
  await first.measured(TASK, false, async () => rows(100));
  expect(speedsOf(await first.measured(TASK, true, unexpected))).toEqual([["other", 100]]);

  const others: readonly (readonly [Machine, RowTask])[] = [
    [{ ...MACHINE, executable: "two" }, TASK],
    [{ ...MACHINE, processor: "another" }, TASK],
    [MACHINE, { ...TASK, sides: ["svc", "llama-server"] }],
    [MACHINE, { ...TASK, streams: 8 }],
    [MACHINE, { ...TASK, pairs: 3 }],
  ];
  for (const [machine, task] of others) {
    const measured = await new Cells(path, machine).measured(task, true, async () => rows(7, task));
    expect(speedsOf(measured)).toEqual([[task.sides[1], 7]]);
  }
  expect(readCells(path)).toHaveLength(1 + others.length);
});

test("rows beside several sides are kept one by one, and measured together if one is missing", async () => {
  const cells = new Cells(join(folder, "sides.jsonl"), MACHINE);
  await cells.measured(TASK, false, async () => rows(100));
  const three = { ...TASK, sides: ["svc", "other", "third"] } as const;
  await cells.measured(three, true, async () => rows(200, three));
  const kept = await cells.measured(three, true, unexpected);
  expect(speedsOf(kept)).toEqual([
    ["other", 200],
    ["third", 200],
  ]);
  expect(speedsOf(await cells.measured(TASK, true, unexpected))).toEqual([["other", 200]]);
});

test("tables show the newest executable of each processor, and a cell's last measurement", async () => {
  const path = join(folder, "tables.jsonl");
  await new Cells(path, MACHINE).measured(TASK, false, async () => rows(111));
  const newer = new Cells(path, { ...MACHINE, executable: "two" });
  await newer.measured(TASK, false, async () => rows(222));
  await newer.measured(TASK, false, async () => rows(333));
  const text = sections(readCells(path), false);
  expect(text).toContain("## a processor");
  expect(text).toContain("333 / 333");
  expect(text).not.toContain("222 / 222");
  expect(text).not.toContain("111 / 111");
  expect(sections(readCells(path), true)).toContain("111 / 111");
});
