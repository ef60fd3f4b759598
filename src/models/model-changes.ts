// What clients choose for the models of a server beside its configuration.

import { isAbsolute } from "node:path";
import { ServiceError } from "../core/error.ts";
import { checkGguf } from "../core/gguf-check.ts";
import type { LoadControl, ModelChanges } from "../core/load-settings.ts";
import { partPaths } from "../core/model-files.ts";
import { reasonOf } from "../core/reason.ts";
import { fromHome } from "../core/user-home.ts";
import type { Models } from "../engine/models.ts";
import type { ModelChoices } from "./model-choices.ts";
import { isModel } from "./model-folder.ts";

/** The choices for a server's models. */
export function modelChanges(models: Models, choices: ModelChoices): ModelChanges {
  const idOf = (path: string): string | undefined => {
    models.list(); // brings the served models up to date
    return choices.served.get(path)?.id;
  };
  const pathOf = (id: string): string | undefined => choices.files.find((path) => idOf(path) === id);
  return {
    planLoad: async (name, settings) => {
      const { id, load } = loadable(models, name);
      return { model_id: id, ...(await load.plan(settings)) };
    },
    keepLoad: (name, settings) => loadable(models, name).load.keep(settings),
    addFile: (given) => {
      const path = soundFile(given);
      choices.addFile(path);
      const id = idOf(path);
      if (id !== undefined) return id;
      choices.forgetFile(path);
      throw wrongPath("is served already, by the configuration or under the name of another model");
    },
    addedFiles: () => choices.files.flatMap((path) => idOf(path) ?? []),
    forgetFile: (id) => {
      const path = pathOf(id);
      if (path !== undefined) return choices.forgetFile(path);
      const message = `no file of a model "${id.slice(0, 200)}" was added; GET /v1/hub/files lists those that were`;
      throw new ServiceError("hub_model_not_found", message, { param: "id" });
    },
  };
}

function loadable(models: Models, name: string): { readonly id: string; readonly load: LoadControl } {
  const { id, load } = models.resolve(name, "model_id");
  if (load !== undefined) return { id, load };
  const message = `the load of ${id} has no settings: only text models that this server loads have some`;
  throw new ServiceError("unsupported_capability", message, { param: "model_id" });
}

/** The first part of the model at a path. Throws ServiceError; its message tells nothing of other files. */
function soundFile(given: string): string {
  const path = fromHome(given);
  if (!isAbsolute(path))
    throw wrongPath("must be an absolute path on the server's machine, or begin with ~/");
  const [first = path] = partPaths(path);
  if (!/\.gguf$/i.test(path) || !isModel(first))
    throw wrongPath(
      "names no model: it must be a GGUF file that svc may read, with all its parts, and neither a projector nor an adapter",
    );
  try {
    for (const part of partPaths(first)) checkGguf(part);
  } catch (error) {
    throw wrongPath(`names a GGUF file that cannot be used: ${reasonOf(error)}`);
  }
  return first;
}

function wrongPath(what: string): ServiceError {
  return new ServiceError("unsupported_value", `path ${what}`, { param: "path" });
}
