// GGUF files that are served beside the configured models: those of `models_dir`, and those that were added in the web interface. They
// are looked at again when models are asked for, so that files come and go while the server runs.

import { existsSync } from "node:fs";
import { basename, dirname, join, relative } from "node:path";
import { modelName } from "../config/model-name.ts";
import type { ModelSettings } from "../config/settings.ts";
import { readFirstFields, textOf } from "../core/gguf.ts";
import {
  draftFor,
  modelGroups,
  type ModelGroup,
  partPaths,
  projectorFor,
  quantOf,
} from "../core/model-files.ts";
import { namesIn, realPathOf, statsOf } from "../core/readable.ts";
import { startOf } from "../core/file-bytes.ts";
import type { Models } from "../engine/models.ts";
import type { ServedModel } from "../engine/served-model.ts";
import { type FoundModel, serveFound, type ServedFiles } from "./found-models.ts";
import {
  MODEL_FOLDER_DEPTH_MAX,
  MODEL_FOLDER_PAUSE_MS,
  MODEL_FOLDERS_MAX,
  MODEL_START_BYTES,
} from "./limits.ts";
import type { ModelChoices } from "./model-choices.ts";
import type { ModelOptions } from "./model-files.ts";

/** Brings the served models up to date with the files; undefined where none can come. */
export function folderModels(
  { settings, log }: Pick<ModelOptions, "settings" | "log">,
  choices: ModelChoices | undefined,
  serve: (entry: ModelSettings) => ServedModel,
): ((models: Models) => void) | undefined {
  const { models_dir: folder } = settings.server;
  if (folder === undefined && choices === undefined) return undefined;
  if (folder !== undefined && !existsSync(folder)) log(`models_dir: there is no folder ${folder} yet`);
  const served: ServedFiles = choices?.served ?? new Map();
  let lookedMs = -Infinity;
  let added: readonly string[] = [];
  let before = "[]";
  return (models) => {
    const files = choices?.files ?? [];
    if (files === added && performance.now() - lookedMs < MODEL_FOLDER_PAUSE_MS) return;
    added = files;
    lookedMs = performance.now();
    const inFolder = folder === undefined ? [] : modelsIn(folder);
    const found = [...inFolder, ...files.flatMap(addedModel)];
    const now = JSON.stringify(found);
    if (now === before) return;
    before = now;
    serveFound(models, new Map(found.map((one) => [one.path, one])), { settings, serve, served, log });
  };
}

/** The models of a folder and of its folders, the newest last. */
export function modelsIn(folder: string): readonly FoundModel[] {
  const found = foldersBelow(folder).flatMap((inner) => {
    const files = namesIn(inner)
      .toSorted()
      .filter((name) => /\.gguf$/i.test(name));
    const groups = modelGroups(files).filter(({ parts, total }) => parts.length === total);
    const models = groups.filter(({ name }) => isModel(join(inner, name)));
    return models.map((group): FoundModel => {
      const path = join(inner, group.name);
      const own = modelName({ model_id: path });
      const below = relative(folder, dirname(path));
      const names = below === "" ? [own] : [own, `${below}/${own}`];
      return { path, ...companionsOf(group, inner, files, models.length), names };
    });
  });
  return found.toSorted((a, b) => changedMs(a.path) - changedMs(b.path));
}

/** A file that was added by its path; none while it is away. */
function addedModel(path: string): readonly FoundModel[] {
  if (!isModel(path)) return [];
  const folder = dirname(path);
  const [group] = modelGroups([basename(path)]);
  const own = modelName({ model_id: path });
  const companions = group && companionsOf(group, folder, namesIn(folder).toSorted(), 2);
  return [{ path, ...companions, names: [own, `${basename(folder)}/${own}`] }];
}

/** Projector and draft model of a model: all in a folder of its own; among other models only what has its name. */
function companionsOf(
  { name }: ModelGroup,
  folder: string,
  files: readonly string[],
  models: number,
): Pick<FoundModel, "mmproj" | "draft"> {
  const ofName = files.filter((file) => bareName(file) === bareName(name));
  const mmproj = projectorFor(name, models === 1 ? files : ofName);
  const draft = models === 1 ? draftFor(name, files) : undefined;
  return {
    ...(mmproj === undefined ? {} : { mmproj: join(folder, mmproj) }),
    ...(draft === undefined ? {} : { draft: join(folder, draft) }),
  };
}

/** A name without what a file is for and its type: `SmolVLM-256M-Q8_0.gguf`, `mmproj-SmolVLM-256M-f16.gguf` are one model's. */
function bareName(file: string): string {
  const type = quantOf(file)?.toLowerCase();
  const words = file
    .toLowerCase()
    .replace(/\.gguf$/, "")
    .split(/[-.]/);
  return words.filter((word) => word !== "mmproj" && word !== type).join("-");
}

const known = new Map<string, boolean>(); // by path, size and time of change

/** Whether a file is a whole model by its first bytes; a projector, an adapter and a file that is being written are none. */
export function isModel(path: string): boolean {
  const stat = statsOf(path);
  if (stat === undefined || !stat.isFile() || !partPaths(path).every((part) => existsSync(part)))
    return false;
  const key = `${path}\n${stat.size}\n${stat.mtimeMs}`;
  const before = known.get(key);
  if (before !== undefined) return before;
  const is = startsAsModel(path);
  if (known.size >= MODEL_FOLDERS_MAX) known.clear();
  known.set(key, is);
  return is;
}

function startsAsModel(path: string): boolean {
  try {
    const fields = readFirstFields(startOf(path, MODEL_START_BYTES));
    const text = (key: string): string | undefined => {
      const field = fields.get(key);
      return field && textOf(field);
    };
    const architecture = text("general.architecture");
    return (text("general.type") ?? "model") === "model" && (architecture ?? "clip") !== "clip";
  } catch {
    return false; // no GGUF file, or not yet
  }
}

/** The folder and those below it, as deep as models lie; hidden ones are left out. */
function foldersBelow(folder: string): readonly string[] {
  if (!existsSync(folder)) return [];
  const found = new Map([[realPathOf(folder), folder]]); // links may lead round in circles
  const depthOf = (path: string): number => relative(folder, path).split("/").length;
  for (const one of found.values()) {
    if (one !== folder && depthOf(one) >= MODEL_FOLDER_DEPTH_MAX) continue;
    for (const name of namesIn(one).toSorted()) {
      const path = join(one, name);
      if (found.size >= MODEL_FOLDERS_MAX) return [...found.values()];
      const isFolder = !name.startsWith(".") && statsOf(path)?.isDirectory();
      if (isFolder && !found.has(realPathOf(path))) found.set(realPathOf(path), path);
    }
  }
  return [...found.values()];
}

function changedMs(path: string): number {
  return statsOf(path)?.mtimeMs ?? 0;
}
