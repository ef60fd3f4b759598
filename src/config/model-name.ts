// The public name of a model. Knows nothing of files beyond how their names are spelled.

import { basename, isAbsolute } from "node:path";
import { catalogued } from "../core/catalogue.ts";
import { parseHubId } from "../core/hub-id.ts";

/**
 * The name clients use for a model: its alias; a name of the catalogue; of a hub model `owner/name`; else the file or folder name without `.gguf`
 * and without the number of a split file. Never a path of this machine. A folder must be given as an absolute path, since
 * `models/x` could also name a repository.
 */
export function modelName(model: { readonly model_id: string; readonly alias?: string }): string {
  if (model.alias !== undefined) return model.alias;
  if (catalogued(model.model_id) !== undefined) return model.model_id;
  const hub = isAbsolute(model.model_id) ? undefined : parseHubId(model.model_id);
  if (hub !== undefined) return hub.repo;
  return basename(model.model_id)
    .replace(/\.gguf$/i, "")
    .replace(/-\d{5}-of-\d{5}$/, "");
}
