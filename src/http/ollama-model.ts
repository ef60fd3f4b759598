// The model that a request of Ollama's dialect names.

import { refuseModel } from "../core/account.ts";
import type { Caller } from "../core/caller.ts";
import { ServiceError } from "../core/error.ts";
import { cardOf, type ModelInfo } from "../core/model-info.ts";
import { describeValue } from "../dialects/shared/check.ts";
import { readObjectOfAnyType } from "./body.ts";
import type { HttpDeps } from "./deps.ts";
import { withOllamaPreset } from "../dialects/shared/preset.ts";
import { filled } from "./model-body.ts";
import { resolvedModel } from "./model-name.ts";
import { callerOf, observed } from "./observe.ts";

/**
 * The body of a request, with the name under which its model is served; patterns of aliases are for texts alone. As Ollama does, it takes any content type: the
 * command lines that people copy send none of JSON.
 */
export async function readOllama(
  deps: HttpDeps,
  request: Request,
  withPatterns: boolean,
): Promise<Readonly<Record<string, unknown>>> {
  const body = await readObjectOfAnyType(request);
  const asked = { deps, caller: callerOf(request) };
  const { model } = body;
  if (typeof model !== "string") return filled(asked, body, "default", {}, withOllamaPreset);
  const { name, defaults = {} } = resolvedModel(deps, model, withPatterns);
  observed()?.named(name);
  return filled(asked, { ...body, model: name }, name, defaults, withOllamaPreset);
}

/** The card of the model that a name means, for a caller who may use it. Throws ServiceError: `model_not_found`, `permission_denied`. */
export function modelOf(deps: HttpDeps, { account }: Caller, name: string): ModelInfo {
  const meant = resolvedModel(deps, name, false).name;
  const model = cardOf(deps.models(), meant);
  if (model !== undefined) {
    refuseModel(account, meant, model);
    return model;
  }
  const message = `model ${describeValue(name)} not found; GET /api/tags lists the served models`;
  throw new ServiceError("model_not_found", message, { param: "model" });
}

/** Id of the model that is loaded for a name: of an adapter its base model. */
export function baseOf(deps: HttpDeps, caller: Caller, name: string): Pick<ModelInfo, "id" | "status"> {
  const { id, parent, status } = modelOf(deps, caller, name);
  return { id: parent ?? id, status };
}
