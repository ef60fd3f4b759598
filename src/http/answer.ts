// Common fields of the answers of all generation routes.

import { defined } from "../core/defined.ts";
import { type Ability, defaultModel } from "../core/model-info.ts";
import { type IdPrefix, newId } from "../core/id.ts";
import type { AnswerMeta } from "../dialects/shared/answer.ts";
import type { HttpDeps } from "./deps.ts";

/** Id, time, model and build of the answer to a request that named `model`, which the engine has accepted. */
export function answerMeta(
  deps: HttpDeps,
  model: string,
  prefix: IdPrefix,
  accepted: AcceptedBy = {},
): AnswerMeta {
  const meta = {
    id: newId(prefix),
    created: Math.floor(Date.now() / 1000),
    model: answeringModel(deps, model),
    fingerprint: deps.fingerprint,
  };
  return acceptedMeta(meta, accepted);
}

/** What answers, as the engine has said. */
interface AcceptedBy {
  readonly adapterGeneration?: string;
  readonly answeredBy?: string;
}

/** The same once the engine has accepted the request. */
export function acceptedMeta(meta: AnswerMeta, { adapterGeneration, answeredBy }: AcceptedBy): AnswerMeta {
  return { ...meta, ...defined({ adapterGeneration, model: answeredBy }) };
}

/** The header of an answer whose choices have fingerprints. */
export function fingerprintHeader(
  choices: readonly { readonly fingerprint?: string }[],
): Readonly<Record<string, string>> {
  const fingerprints = choices.flatMap(({ fingerprint }) => fingerprint ?? []);
  return fingerprints.length === 0 ? {} : { "x-svc-fingerprint": fingerprints.join(", ") };
}

/** The id of the model with an ability behind a name that a request gave. */
export function answeringModel(deps: HttpDeps, model: string, ability: Ability = "generates"): string {
  if (model !== "default") return model;
  return defaultModel(deps.models(), ability)?.id ?? model;
}
