// Whether the files that an engine has loaded are still those: engines map them into memory, so that a file that is written over
// changes under a running model.

import { statSync } from "node:fs";
import { partPaths } from "../core/model-files.ts";
import type { EngineOptions } from "./protocol.ts";

interface FileStamp {
  readonly path: string;
  readonly size: number;
  readonly mtimeMs: number;
  readonly inode: number;
}

/** Paths of the model files among an engine's options. */
function filesOf(options: EngineOptions): readonly string[] {
  if (options.kind !== "text") return [];
  const { modelPath, mmprojPath, speculative } = options;
  const draft = speculative?.type === "mtp" ? speculative.mtpModel : undefined;
  return [modelPath, mmprojPath, draft].flatMap((path) => (path === undefined ? [] : partPaths(path)));
}

/** undefined: it cannot be read, which loading it will tell. */
function stampOf(path: string): FileStamp | undefined {
  const stat = statSync(path, { throwIfNoEntry: false });
  return stat && { path, size: stat.size, mtimeMs: stat.mtimeMs, inode: stat.ino };
}

/** The files of one engine, as they were when it began to load. */
export class LoadedFiles {
  private stamps: readonly FileStamp[] = [];

  note(options: EngineOptions): EngineOptions {
    this.stamps = filesOf(options).flatMap((path) => stampOf(path) ?? []);
    return options;
  }

  /** Whether one was written over. One that was deleted, or replaced by another file, stays in memory as it was. */
  get areOverwritten(): boolean {
    return this.stamps.some((before) => {
      const now = stampOf(before.path);
      if (now?.inode !== before.inode) return false;
      return now.size !== before.size || now.mtimeMs !== before.mtimeMs;
    });
  }
}
