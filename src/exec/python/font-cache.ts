// matplotlib's list of fonts, made once for all sessions: a session that makes its own waits four seconds for its first plot.
// Made in the sandbox by matplotlib alone, before code of a model runs in that folder, so that no session writes another one's.

import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { PYTHON_FONTS_BYTES_MAX, PYTHON_FONTS_MS } from "../limits.ts";
import type { ConfinedProcess, Sandbox } from "../../sandbox/types.ts";
import { runToEnd } from "../run-to-end.ts";
import type { PythonProgram } from "./interpreter.ts";

/** Where matplotlib keeps its list, below the home of a session. Its name has a version. */
const FOLDER = ".cache/matplotlib";
const NAME = /^fontlist-[\w.-]{1,40}\.json$/;

/** A file for the folder of a session. */
export interface FontCache {
  /** Relative to the working directory. */
  readonly name: string;
  readonly content: Uint8Array<ArrayBuffer>;
}

export class FontCaches {
  private readonly sandbox: Sandbox;
  private readonly program: PythonProgram;
  private run: ConfinedProcess | undefined;
  private made: FontCache | undefined;
  private readonly done: Promise<void>;

  /** Begins to make the list, where the interpreter has matplotlib. */
  constructor(sandbox: Sandbox, program: PythonProgram, packages: readonly string[]) {
    this.sandbox = sandbox;
    this.program = program;
    const isWanted = packages.some((name) => name.startsWith("matplotlib=="));
    this.done = isWanted ? this.make().catch(() => {}) : Promise.resolve(); // sessions make their own
  }

  /** The list; undefined until it is made. */
  get ready(): FontCache | undefined {
    return this.made;
  }

  async close(): Promise<void> {
    this.run?.kill();
    await this.done;
  }

  private async make(): Promise<void> {
    const { path, readPaths } = this.program;
    const workdir = this.sandbox.newWorkdir("fonts");
    try {
      const argv = [path, "-c", "import matplotlib.font_manager"];
      this.run = this.sandbox.spawn({ argv, workdir, readPaths, env: { MPLBACKEND: "Agg" } });
      await runToEnd(this.run, PYTHON_FONTS_MS);
      const folder = join(workdir.path, FOLDER);
      const name = (await readdir(folder)).find((one) => NAME.test(one));
      if (name === undefined) return;
      const content = new Uint8Array(await readFile(join(folder, name)));
      if (content.byteLength <= PYTHON_FONTS_BYTES_MAX) this.made = { name: `${FOLDER}/${name}`, content };
    } finally {
      await this.sandbox.removeWorkdir(workdir);
    }
  }
}
