// The public name of a model. Knows nothing of files beyond how their names are spelled.

import { basename } from "node:path";

/**
 * The name clients use for a model: its alias, or the file or folder name without `.gguf` and without the number of a
 * split file. Never a path of this machine.
 */
export function modelName(model: { readonly model_id: string; readonly alias?: string }): string {
  const file = basename(model.model_id).replace(/\.gguf$/i, "");
  return model.alias ?? file.replace(/-\d{5}-of-\d{5}$/, "");
}
