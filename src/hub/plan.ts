// What a pull downloads: the files of a model, and its projector and draft model by name.

import { itemAt } from "../core/assert.ts";
import { defined } from "../core/defined.ts";
import { formatRepo, type HubId } from "../core/hub-id.ts";
import {
  chooseModelFiles,
  draftFor,
  fileRoles,
  hasSafetensors,
  projectorFor,
  quantOf,
} from "../core/model-files.ts";
import { HubError } from "./error.ts";
import { ADAPTERS_AUTO_MAX } from "./limits.ts";
import type { RepoFile, RepoListing } from "./repository.ts";

/** Default quantization among several files, as in llama.cpp's own tools. */
export const USUAL_QUANT = "Q4_K_M";

/** Which files are downloaded with a model: `auto` (by name, if there is one), `none`, or a file of the repository. */
export interface Companions {
  readonly projector: string;
  readonly draft: string;
  /** All GGUF adapters of the repository; absent: none. */
  readonly adapters?: "auto" | "none";
}

export const NO_COMPANIONS: Companions = { projector: "none", draft: "none" };
export const AUTO_COMPANIONS: Companions = { projector: "auto", draft: "auto" };

/** Files of a model in a repository. */
export interface ModelPlan {
  readonly parts: readonly RepoFile[];
  readonly projector?: RepoFile;
  readonly draft?: RepoFile;
  readonly adapters: readonly RepoFile[];
}

/** A repository has weights, but not as GGUF. */
export class SafetensorsOnly extends HubError {
  constructor(id: HubId) {
    const repo = formatRepo(id);
    const words = id.quant === undefined ? repo : `${repo} ${id.quant}`;
    super(
      `${repo} has no GGUF file, but safetensors. \`svc convert ${words}\` makes a GGUF file of them; with --auto-convert the server does so at the first load of ${repo}. Many models have a repository that ends in -GGUF.`,
      "hub_model_not_found",
    );
  }
}

/** The parts that a name means among a repository's files. Throws HubError, which says why there are none. */
export function chosenParts(id: HubId, paths: readonly string[]): readonly string[] {
  const chosen = chooseModelFiles(paths, defined({ file: id.file, quant: id.quant }), USUAL_QUANT);
  if (!chosen.ok && !paths.some((path) => path.endsWith(".gguf")) && hasSafetensors(paths))
    throw new SafetensorsOnly(id);
  if (!chosen.ok)
    throw new HubError(`${formatRepo(id)}: ${chosen.what}. ${chosen.fix}`, "hub_model_not_found");
  return chosen.parts;
}

/** Chooses the files of a model. Throws HubError. */
export function planModel(id: HubId, { files }: RepoListing, companions: Companions): ModelPlan {
  const paths = files.map(({ path }) => path);
  const chosen = chosenParts(id, paths);
  const named = (path: string): RepoFile[] => files.filter((file) => file.path === path);
  const companion = (wanted: string, found: string | undefined): RepoFile | undefined => {
    if (wanted === "none") return undefined;
    const path = wanted === "auto" ? found : wanted;
    if (path === undefined) return undefined;
    const [file] = named(path);
    if (file !== undefined) return file;
    throw new HubError(`${formatRepo(id)}: there is no file ${path} in it.`, "hub_model_not_found");
  };
  const model = itemAt(chosen, 0);
  const roles = companions.adapters === "auto" ? fileRoles(paths) : undefined;
  const isAdapter = ({ path }: RepoFile): boolean => path.endsWith(".gguf") && roles?.get(path) === "adapter";
  return {
    parts: chosen.flatMap(named),
    adapters: files.filter(isAdapter).slice(0, ADAPTERS_AUTO_MAX),
    ...defined({
      projector: companion(companions.projector, projectorFor(model, paths)),
      draft: companion(companions.draft, draftFor(model, paths)),
    }),
  };
}

/** All files of a plan. */
export function filesOf({ parts, projector, draft, adapters }: ModelPlan): readonly RepoFile[] {
  return [...parts, projector, draft, ...adapters].filter((file) => file !== undefined);
}

/**
 * The name of one of a repository's models: `owner/name:Q4_K_M`, with the file instead where the type does not tell it from the others,
 * `owner/name` alone for the only one of unknown type.
 */
export function modelId(
  id: Pick<HubId, "repo" | "revision">,
  file: string,
  models: readonly string[],
): string {
  const repo = formatRepo(id);
  const quant = quantOf(file);
  if (quant !== undefined && models.filter((path) => quantOf(path) === quant).length <= 1)
    return `${repo}:${quant}`;
  return models.length <= 1 ? repo : `${repo}:${file}`;
}
