// Common fields of the answers of all generation routes.

import { defined } from "../core/defined.ts";
import type { ModelKind } from "../core/model-info.ts";
import { type IdPrefix, newId } from "../core/id.ts";
import type { AnswerMeta } from "../dialects/shared/answer.ts";
import type { HttpDeps } from "./deps.ts";

/** Id, time, model and build of the answer to a request that named `model`, which the engine has accepted. */
export function answerMeta(
  deps: HttpDeps,
  model: string,
  prefix: IdPrefix,
  {
    adapterGeneration,
    answeredBy,
  }: { readonly adapterGeneration?: string; readonly answeredBy?: string } = {},
): AnswerMeta {
  return {
    id: newId(prefix),
    created: Math.floor(Date.now() / 1000),
    model: answeredBy ?? answeringModel(deps, model),
    fingerprint: deps.fingerprint,
    ...defined({ adapterGeneration }),
  };
}

/** The id of the model of a kind behind a name that a request gave. */
export function answeringModel(deps: HttpDeps, model: string, kind: ModelKind = "text"): string {
  if (model !== "default") return model;
  return deps.models().find((one) => one.kind === kind)?.id ?? model;
}
