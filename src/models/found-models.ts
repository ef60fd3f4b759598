// Serves models beside the configured ones while their files come and go.

import type { ModelSettings, Settings } from "../config/settings.ts";
import { realPathOf } from "../core/readable.ts";
import type { Models } from "../engine/models.ts";
import type { ServedModel } from "../engine/served-model.ts";
import { configuredFiles, entryOf, type FoundFiles } from "./locate.ts";

/** A model that was found. */
export interface FoundModel extends FoundFiles {
  /** Its name, and those that it gets where that is taken. */
  readonly names: readonly string[];
  /** Its repository, if it is of one. */
  readonly root?: string;
}

/** Ids under which models are served, and what each is made from, by what identifies them. */
export type ServedFiles = Map<string, { readonly id: string; readonly from: string }>;

export interface FoundModelsDeps {
  readonly settings: Settings;
  readonly serve: (entry: ModelSettings) => ServedModel;
  readonly served: ServedFiles;
  /** Told of a model that gets no name; absent: that is no news. */
  readonly log?: (line: string) => void;
}

/** Brings the served models up to date with those that were found, by what identifies them. */
export function serveFound(
  models: Models,
  wanted: ReadonlyMap<string, FoundModel>,
  { settings, serve, served, log }: FoundModelsDeps,
): void {
  for (const [key, { id, from }] of served) {
    if (JSON.stringify(wanted.get(key)) === from) continue;
    served.delete(key);
    void models.remove(id);
  }
  const configured = configuredFiles(settings);
  for (const [key, found] of wanted) {
    if (served.has(key) || configured.has(realPathOf(found.path))) continue;
    const taken = new Set(models.ids());
    const id = found.names.find((name) => !taken.has(name));
    if (id === undefined) log?.(`${found.path} is not served: other models have its name`);
    else {
      served.set(key, { id, from: JSON.stringify(found) });
      const root = found.root === undefined ? {} : { root: found.root };
      models.add({ ...serve(entryOf(found, id)), ...root, isLazy: true });
    }
  }
}
