// Measured rows in a file of JSON lines, with the machine and the executable they belong to. Rows are appended one by one, so an
// interrupted run keeps its results and --resume takes them.

import { appendFileSync, existsSync, mkdirSync, readFileSync } from "node:fs";
import { dirname } from "node:path";
import type { Machine } from "./machine.ts";
import type { RowTask, SideRow } from "./measure.ts";
import type { Row } from "./report.ts";

/** The settings that a row depends on besides machine and executable. */
interface CellKey {
  readonly model: string;
  readonly scenario: string;
  readonly streams: number;
  readonly sides: readonly [string, string];
  readonly pairs: number;
  readonly threads: number;
  readonly quick: boolean;
}

/** A line of the file. */
export interface Cell extends CellKey {
  readonly machine: Machine;
  /** Time of its end, ISO 8601. */
  readonly when: string;
  readonly row: Row;
}

/** All rows of a file; none if it is missing. */
export function readCells(path: string): readonly Cell[] {
  if (!existsSync(path)) return [];
  const lines = readFileSync(path, "utf8").split("\n");
  return lines.filter((line) => line !== "").map((line): Cell => JSON.parse(line));
}

export class Cells {
  readonly path: string;
  private readonly machine: Machine;

  constructor(path: string, machine: Machine) {
    this.path = path;
    this.machine = machine;
    mkdirSync(dirname(path), { recursive: true });
  }

  /** Measures rows and appends them; with `resume`, returns those of an earlier run with the same executable instead, if it has all. */
  async measured(
    task: RowTask,
    resume: boolean,
    measure: () => Promise<readonly SideRow[]>,
  ): Promise<readonly SideRow[]> {
    const { model, streams, pairs, threads, quick } = task;
    const settings = { model, scenario: task.scenario.name, streams, pairs, threads, quick };
    const keyOf = (sides: SideRow["sides"]): CellKey => ({ ...settings, sides });
    const [first, ...others] = task.sides;
    const kept = others.flatMap((side) => {
      const sides = [first, side] as const;
      const cell = resume ? this.find(keyOf(sides)) : undefined;
      return cell === undefined ? [] : [{ sides, row: cell.row }];
    });
    if (kept.length === others.length) return kept;
    const rows = await measure();
    for (const { sides, row } of rows) {
      const cell: Cell = { ...keyOf(sides), machine: this.machine, when: new Date().toISOString(), row };
      appendFileSync(this.path, `${JSON.stringify(cell)}\n`);
    }
    return rows;
  }

  private find(key: CellKey): Cell | undefined {
    const { executable, processor } = this.machine;
    return readCells(this.path).findLast(
      (cell) =>
        cell.machine.executable === executable &&
        cell.machine.processor === processor &&
        Object.entries(key).every(([name, value]) => Bun.deepEquals(cell[name as keyof CellKey], value)),
    );
  }
}
