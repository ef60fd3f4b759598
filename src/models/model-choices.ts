// What people have chosen in the web interface for models: with what each is loaded, and files that are served. One JSON file in the
// user's configuration folder, read again once it has changed.
// Not in the TOML file, which would lose its comments and is often read-only; not in the State, which ends with the process by default.

import { mkdirSync, readFileSync } from "node:fs";
import { basename, dirname } from "node:path";
import { modelName } from "../config/model-name.ts";
import type { ModelSettings, Settings } from "../config/settings.ts";
import { defined } from "../core/defined.ts";
import { ServiceError } from "../core/error.ts";
import { type KeptChoices, keptChoices, type LoadSettings } from "../core/load-settings.ts";
import { statsOf } from "../core/readable.ts";
import { reasonOf } from "../core/reason.ts";
import { writeWhole } from "../core/whole-file.ts";
import type { ServedFiles } from "./found-models.ts";
import { CHOSEN_MODELS_MAX } from "./limits.ts";

const NONE: KeptChoices = { load: [], files: [] };

/** The choices in one file. */
export class ModelChoices {
  readonly served: ServedFiles = new Map();
  private read = { stamp: "", choices: NONE, isSound: true };
  private readonly file: string;
  private readonly log: (line: string) => void;

  /** `file`: where they are kept; it may be absent. */
  constructor(file: string, log: (line: string) => void) {
    this.file = file;
    this.log = log;
  }

  /** Files that are served beside the configured models. */
  get files(): readonly string[] {
    return this.now().files;
  }

  /** What the model of an entry is loaded with beside its settings. */
  loadOf(entry: ModelSettings): LoadSettings {
    return this.now().load.find(isOf(entry))?.settings ?? {};
  }

  /** Keeps what a model is loaded with; no value: what is configured. Throws ServiceError. */
  keepLoad(entry: ModelSettings, settings: LoadSettings): void {
    const { load, ...others } = this.now();
    const rest = load.filter((one) => !isOf(entry)(one));
    const own = Object.keys(settings).length === 0 ? [] : [{ ...keyOf(entry), settings }];
    this.write({ ...others, load: [...rest, ...own] });
  }

  /** Serves a file from now on. Throws ServiceError. */
  addFile(path: string): void {
    const { files, ...others } = this.now();
    this.write({ ...others, files: [...files.filter((one) => one !== path), path] });
  }

  /** Serves a file no more; the file stays. Throws ServiceError. */
  forgetFile(path: string): void {
    const { files, ...others } = this.now();
    this.write({ ...others, files: files.filter((one) => one !== path) });
  }

  private now(): KeptChoices {
    const stat = statsOf(this.file);
    const stamp = stat === undefined ? "" : `${stat.ino} ${stat.mtimeMs} ${stat.size}`;
    if (stamp !== this.read.stamp) {
      const choices = stat === undefined ? NONE : this.parsed();
      this.read = { stamp, choices: choices ?? NONE, isSound: choices !== undefined };
    }
    return this.read.choices;
  }

  private parsed(): KeptChoices | undefined {
    try {
      const kept = keptChoices(JSON.parse(readFileSync(this.file, "utf8")));
      if (kept !== undefined) return kept;
      this.log(`${this.file} has values that svc does not know; it is ignored until it is mended or deleted`);
    } catch (error) {
      this.log(`${this.file} cannot be read: ${reasonOf(error)}`);
    }
    return undefined;
  }

  private write(choices: KeptChoices): void {
    if (Math.max(choices.load.length, choices.files.length) > CHOSEN_MODELS_MAX) {
      const message = `there are settings or files of ${CHOSEN_MODELS_MAX} models already; remove some first`;
      throw new ServiceError("model_storage_full", message);
    }
    try {
      if (!this.read.isSound) throw new Error("what is in it could not be read and would be lost");
      mkdirSync(dirname(this.file), { recursive: true, mode: 0o700 });
      writeWhole(this.file, `${JSON.stringify(choices, undefined, 2)}\n`);
    } catch (error) {
      this.log(`${this.file} cannot be written: ${reasonOf(error)}`);
      const message =
        "the server cannot write its configuration folder, so this cannot be kept; set XDG_CONFIG_HOME or HOME to a folder that it may write";
      throw new ServiceError("storage_unavailable", message, { cause: error });
    }
  }
}

function keyOf(entry: ModelSettings): { readonly model: string; readonly file: string } {
  return { model: modelName(entry), file: basename(entry.model_id) };
}

function isOf(entry: ModelSettings) {
  const { model, file } = keyOf(entry);
  return (one: { readonly model: string; readonly file: string }): boolean =>
    one.model === model && one.file === file;
}

/** An entry and the settings with what was chosen for its load. */
export function withLoad(
  entry: ModelSettings,
  settings: Settings,
  { max_seq_len, cache_type, device_layers, threads }: LoadSettings,
): { readonly entry: ModelSettings; readonly settings: Settings } {
  return {
    entry: { ...entry, device: { ...entry.device, ...defined({ max_seq_len, device_layers }) } },
    settings: {
      ...settings,
      runtime: { ...settings.runtime, ...defined({ threads, threads_batch: threads }) },
      paged_attn: { ...settings.paged_attn, ...defined({ cache_type }) },
    },
  };
}
