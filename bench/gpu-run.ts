// A run of `bench/gpu.sh`: its time, what it has found so far, and where that is kept. A second run with the same executable on the
// same devices goes on where the first one ended, in whatever way.

import { existsSync, mkdirSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { GpuModel } from "./gpu-model.ts";
import type { Cell } from "./gpu-plan.ts";

export interface Measured extends Cell {
  readonly model: GpuModel;
  readonly side: string;
  readonly tokensPerSecond: number;
  readonly promptTokensPerSecond: number;
  readonly ttftMs: number | null;
  /** Share of what the card could do, of answers. */
  readonly bound: number | undefined;
  readonly placement: string;
}

/** What is kept. */
interface Kept {
  /** Of the executable and the devices. */
  readonly of: string;
  readonly rows: readonly Measured[];
  /** Sentences, by the step that found them. */
  readonly found: Readonly<Record<string, readonly string[]>>;
}

interface Options {
  readonly endMs: number;
  /** Has what an earlier run left. */
  readonly folder: string;
  /** What else the table says of its origin. */
  readonly machine?: string;
  /** Gets the table, below its heading, whenever there is something new. */
  readonly document?: string | undefined;
}

/** Kept for stopping a server and writing. */
const END_MS = 10_000;
const KEPT = "gpu.json";

export class Run {
  readonly devices: string;
  readonly rows: Measured[];
  private readonly found: Record<string, readonly string[]>;
  private readonly skipped: string[] = [];
  private readonly startMs = performance.now();
  private readonly endMs: number;
  private readonly folder: string;
  private readonly of: string;
  private readonly document: string | undefined;
  private readonly machine: string;

  /** `of`: the executable and the devices. */
  constructor(of: string, devices: string, { endMs, folder, machine = "", document }: Options) {
    if (document !== undefined && !readFileSync(document, "utf8").includes(HEADING))
      throw new Error(`${document} has no heading "${HEADING.trim()}"`);
    this.document = document;
    this.machine = machine;
    this.of = of;
    this.devices = devices;
    this.endMs = endMs;
    this.folder = folder;
    mkdirSync(folder, { recursive: true });
    const kept = read(join(folder, KEPT));
    const isSame = kept?.of === of;
    this.rows = isSame ? [...kept.rows] : [];
    this.found = isSame ? { ...kept.found } : {};
    if (this.rows.length > 0) this.say(`goes on after ${this.rows.length} cells of an earlier run`);
  }

  /** Milliseconds that are left for measuring. */
  get left(): number {
    return this.endMs - performance.now() - END_MS;
  }

  /** A step, unless an earlier run has done it. Its failure is logged and noted, and the run goes on. */
  async step(name: string, work: () => Promise<readonly string[]>): Promise<void> {
    if (this.found[name] !== undefined) return;
    this.say(name);
    try {
      const sentences = await work();
      if (sentences.length > 0) this.found[name] = sentences; // else its cells are kept
    } catch (error) {
      this.fail(name, error);
    }
    this.write();
  }

  /** Notes what failed; a later run tries it again. */
  fail(name: string, error: unknown): void {
    const reason = error instanceof Error ? (error.message.split("\n")[0] ?? "") : String(error);
    this.skipped.push(`FAILED: ${name}: ${reason}.`);
    this.say(`FAILED: ${name}: ${reason}`);
  }

  /** Whether an earlier run has measured a cell. */
  has({ model, side, streams, promptTokens }: Pick<Measured, "model" | "side" | keyof Cell>): boolean {
    return this.rows.some(
      (row) =>
        row.model === model &&
        row.side === side &&
        row.streams === streams &&
        row.promptTokens === promptTokens,
    );
  }

  add(row: Measured): void {
    this.rows.push(row);
    this.write();
  }

  skip(subject: string, why: string): void {
    const what = subject.trim().replace(/\.$/, "");
    this.skipped.push(`Not measured, ${why}: ${what}.`);
    this.say(`left out, ${why}: ${what}`);
  }

  /** Progress, with the seconds since the start. */
  say(what: string): void {
    console.error(`bench: ${((performance.now() - this.startMs) / 1000).toFixed(0).padStart(4)} s  ${what}`);
  }

  table(): string {
    const figure = (value: number | null | undefined, digits = 0): string =>
      value === null || value === undefined ? "–" : value.toFixed(digits);
    const lines = this.rows.map(
      ({ model, side, streams, promptTokens, tokensPerSecond, promptTokensPerSecond, ttftMs, bound }) =>
        `| \`${model}\` | ${streams} × ${promptTokens} | ${side} | ${figure(tokensPerSecond, 1)} | ${figure(promptTokensPerSecond)} | ${figure(ttftMs)} | ${figure(bound)} |`,
    );
    return [
      ...(this.machine === "" ? [] : [`${this.machine}.`, ""]),
      `${this.devices}. Tokens/s of all streams with their prompts; the card's bound is that of answers alone.`,
      "",
      "| Model | Streams × prompt tokens | Server | tokens/s | Prompt tokens/s | First token, ms | Bound, tokens/s |",
      "|---|--:|---|--:|--:|--:|--:|",
      ...lines,
      "",
      ...Object.values(this.found).flat(),
      ...this.skipped,
    ].join("\n");
  }

  /** Writes what there is, so that an end at any time leaves it. */
  write(): void {
    const kept: Kept = { of: this.of, rows: this.rows, found: this.found };
    replace(join(this.folder, KEPT), JSON.stringify(kept));
    replace(join(this.folder, "gpu.md"), `${this.table()}\n`);
    if (this.document !== undefined) writeInto(this.document, this.table());
  }
}

/** A machine that is taken away leaves the old file or the new one. */
function replace(path: string, text: string): void {
  writeFileSync(`${path}.part`, text);
  renameSync(`${path}.part`, path);
}

function read(path: string): Kept | undefined {
  try {
    return existsSync(path) ? (JSON.parse(readFileSync(path, "utf8")) as Kept) : undefined; // written above
  } catch {
    console.error(`bench: ${path} cannot be read, and is begun again`);
    return undefined;
  }
}

const HEADING = "## On a graphics card\n";
const [BEGIN, END] = ["<!-- written by bench/gpu.sh -->\n", "<!-- end of that -->\n"];

/** Puts the table into a document. */
function writeInto(document: string, table: string): void {
  const text = readFileSync(document, "utf8").replace(new RegExp(`\n${BEGIN}[^]*?${END}`), "");
  replace(document, text.replace(HEADING, `${HEADING}\n${BEGIN}\n${table}\n\n${END}`));
}
