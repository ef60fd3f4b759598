// Bodies of requests that name a model, with aliases resolved and defaults filled in.

import type { Caller } from "../core/caller.ts";
import type { CompatKind } from "../core/compat.ts";
import { cardOf, type ModelKind } from "../core/model-info.ts";
import { type Preset, presetOfLayers } from "../core/preset.ts";
import type { Sessions } from "../core/sessions.ts";
import { readJsonObject } from "./body.ts";
import { requestCompat } from "./compat.ts";
import type { HttpDeps } from "./deps.ts";
import { isServed, resolvedModel } from "./model-name.ts";
import { callerOf } from "./observe.ts";

type Body = Readonly<Record<string, unknown>>;

/** Whose body it is, and what it is read with. */
export interface AskedBy {
  readonly deps: HttpDeps;
  readonly caller: Caller;
}

/** Fills the fields of a dialect that a body leaves out. */
type FillBody = (body: Body, preset: Preset) => Body;

/**
 * The body of a request to a text model for an answer, with the model that its name stands for. `fill`: with the defaults of the
 * model and its alias; absent where a dialect takes none.
 */
export async function readGeneration(deps: HttpDeps, request: Request, fill?: FillBody): Promise<Body> {
  return withModel({ deps, caller: callerOf(request) }, await readJsonObject(request), true, fill);
}

/** The same for all other requests to models; patterns mean nothing to them. */
export async function readModelRequest(deps: HttpDeps, request: Request): Promise<Body> {
  return withModel({ deps, caller: callerOf(request) }, await readJsonObject(request), false);
}

/** The same for a body that did not come over HTTP. */
export function generationBody(asked: AskedBy, body: Body, fill: FillBody): Body {
  return withModel(asked, body, true, fill);
}

/** The default model of a kind for those that OpenAI's clients name where they have no setting for another. */
export interface StandIn {
  readonly names: ReadonlySet<unknown>;
  readonly kind: ModelKind;
  readonly note: CompatKind;
}

/** A body with the default model in place of one of these names, unless a model of that name is served, or none of the kind. */
export function withStandIn(deps: HttpDeps, body: Body, { names, kind, note }: StandIn): Body {
  const { model } = body;
  const served = deps.models();
  if (!names.has(model) || isServed(served, String(model)) || !served.some((one) => one.kind === kind))
    return body;
  requestCompat(deps).note(note);
  return { ...body, model: "default" };
}

function withModel(asked: AskedBy, body: Body, withPatterns: boolean, fill?: FillBody): Body {
  const { model } = body;
  if (typeof model !== "string") return fill === undefined ? body : filled(asked, body, "default", {}, fill);
  const { name, defaults = {} } = resolvedModel(asked.deps, model, withPatterns);
  const named = name === model ? body : { ...body, model: name };
  return fill === undefined ? named : filled(asked, named, name, defaults, fill);
}

/** A body with the defaults of the model of a name, and those of an alias, which win. */
export function filled(
  { deps, caller }: AskedBy,
  body: Body,
  name: string,
  alias: Preset,
  fill: FillBody,
): Body {
  const card = cardOf(deps.models(), name);
  const { system, ...preset } = presetOfLayers({ ...card?.presets?.(), alias });
  const isOpen = system === undefined || hasSession(deps.sessions(caller), body);
  return fill(body, isOpen ? preset : { ...preset, system });
}

/** Whether the body continues a stored conversation, which has its instructions. */
function hasSession(sessions: Pick<Sessions, "get">, body: Body): boolean {
  const id = body["session_id"];
  return typeof id === "string" && sessions.get(id) !== undefined;
}
