// Bodies of requests that name a model, with aliases resolved.

import { readJsonObject } from "./body.ts";
import type { HttpDeps } from "./deps.ts";
import { resolvedName } from "./model-name.ts";

type Body = Readonly<Record<string, unknown>>;

/** The body of a request to a text model for an answer, with the model that its name stands for. */
export async function readGeneration(deps: HttpDeps, request: Request): Promise<Body> {
  return withModel(deps, await readJsonObject(request), true);
}

/** The same for all other requests to models; patterns mean nothing to them. */
export async function readModelRequest(deps: HttpDeps, request: Request): Promise<Body> {
  return withModel(deps, await readJsonObject(request), false);
}

function withModel(deps: HttpDeps, body: Body, withPatterns: boolean): Body {
  const { model } = body;
  if (typeof model !== "string") return body;
  const resolved = resolvedName(deps, model, withPatterns);
  return resolved === model ? body : { ...body, model: resolved };
}
