// GET /v1/models: one card per served model. POST /v1/models/status, /unload, /reload, /pin, /unpin: status and life cycle.

import { type Static, Type } from "@sinclair/typebox";
import { Elysia, NotFoundError } from "elysia";
import { mayUseModel, refuseModel } from "../../core/account.ts";
import { defined } from "../../core/defined.ts";
import { ServiceError } from "../../core/error.ts";
import { cardOf, type ModelState } from "../../core/model-info.ts";
import { orNull } from "../../core/schema-fields.ts";
import { checker, describeValue } from "../../dialects/shared/check.ts";
import { readJsonObject } from "../body.ts";
import type { HttpDeps } from "../deps.ts";
import type { ApiComponents } from "../openapi.ts";
import { DEEP_PATH } from "../route-table.ts";
import { hubFor } from "../hub.ts";
import { modelCards, ModelObject, ModelStatus, pinned } from "../model-cards.ts";
import { baseModelId, resolvedName } from "../model-name.ts";
import { callerOf } from "../observe.ts";
import { refuseWhileDraining } from "../run.ts";

const MODELS_PATH = "/v1/models/";
/** Last segments of POST routes; a GET of one is the wrong method, not an unknown model. */
const OPERATIONS = new Set(["status", "unload", "reload", "pin", "unpin", "tune", "load_settings"]);

const ModelObjects = Type.Object(
  { object: Type.Literal("list"), data: Type.Array(ModelObject) },
  { $id: "ModelObjects", description: "All served models, the default one first." },
);

const ModelOperationRequest = Type.Object(
  { model_id: Type.String({ minLength: 1, description: "A name that requests accept as `model`." }) },
  { $id: "ModelOperationRequest", description: "Names a model.", examples: [{ model_id: "default" }] },
);

const ModelStatusResponse = Type.Object(
  {
    model_id: Type.String({ description: "Id of the model's card." }),
    status: ModelStatus,
    error: orNull(Type.String({ description: "Error of the last attempt to load it, if it failed." })),
    pinned: pinned(),
    requantizing: Type.Optional(
      Type.Object(
        {
          ggml_type: Type.String({ description: "Type of the weights to come." }),
          progress: Type.Number({
            minimum: 0,
            maximum: 1,
            description: "Completed share of the new weights.",
          }),
        },
        { description: "Present while its weights are being requantized." },
      ),
    ),
  },
  { $id: "ModelStatusResponse", description: "Status of a model." },
);
type ModelStatusResponse = Static<typeof ModelStatusResponse>;

const checkOperation = checker(ModelOperationRequest);

/** Model routes. */
export function modelRoutes(deps: HttpDeps, components: ApiComponents) {
  const app = new Elysia();
  if (deps.hub !== undefined) app.use(pinRoutes(deps, components));
  return app
    .get(
      "/v1/models",
      async ({ request }) => Response.json({ object: "list", data: await usableCards(deps, request) }),
      {
        detail: {
          operationId: "list_models",
          description:
            "All models of this server, loaded or not, with abilities, context length and sampling defaults.",
          tags: ["Models"],
          summary: "List the served models",
          responses: components.answers("The models; the default one comes first.", ModelObjects),
        },
      },
    )
    .get(DEEP_PATH, ({ request }) => findModel(deps, request), {
      detail: {
        operationId: "get_model",
        description: "The same object as in the list of models.",
        tags: ["Model cards"],
        summary: "Get the card of a model, an adapter or an alias; slashes in the id need no escaping",
        responses: components.answers("The card.", ModelObject),
      },
    })
    .get(`${MODELS_PATH}*`, ({ request }) => findModel(deps, request), { detail: { hide: true } })
    .use(operationRoutes(deps, components));
}

function operationRoutes(deps: HttpDeps, components: ApiComponents) {
  const { control } = deps;
  return new Elysia()
    .post(
      "/v1/models/status",
      async ({ request }) => stateAnswer(deps, control.status(await modelId(deps, request))),
      operation(components, "get_model_status", "Get the status of a model", "Does not load the model."),
    )
    .post(
      "/v1/models/unload",
      async ({ request }) => stateAnswer(deps, await control.unload(await modelId(deps, request))),
      operation(
        components,
        "unload_model",
        "Unload a model after its running requests",
        "Frees its memory; the next request loads it again.",
      ),
    )
    .post(
      "/v1/models/reload",
      async ({ request }) => {
        refuseWhileDraining(deps);
        return stateAnswer(deps, await control.reload(await modelId(deps, request)));
      },
      operation(
        components,
        "reload_model",
        "Reload a model after its running requests",
        "Reads its file again.",
      ),
    );
}

function pinRoutes(deps: HttpDeps, components: ApiComponents) {
  const pin = async (request: Request, isPinned: boolean): Promise<Response> => {
    hubFor(deps, request); // throws for clients that may not change the models of this server
    return stateAnswer(deps, deps.control.pin(await modelId(deps, request), isPinned));
  };
  const unload = "when it is idle, or for another model";
  return new Elysia()
    .post(
      "/v1/models/pin",
      ({ request }) => pin(request, true),
      operation(
        components,
        "pin_model",
        `Never unload a model ${unload}, until the server ends`,
        "`/v1/models/unpin` ends it.",
      ),
    )
    .post(
      "/v1/models/unpin",
      ({ request }) => pin(request, false),
      operation(
        components,
        "unpin_model",
        `Unload a pinned model again ${unload}`,
        "It stays loaded until then.",
      ),
    );
}

function operation(components: ApiComponents, operationId: string, summary: string, description: string) {
  return {
    parse: "none" as const, // body.ts reads it
    detail: {
      operationId,
      tags: ["Models"],
      summary,
      description,
      requestBody: components.body(ModelOperationRequest),
      responses: components.answers("The model's status after the operation.", ModelStatusResponse),
    },
  };
}

function stateAnswer({ requantizing }: HttpDeps, { id, status, error, isPinned }: ModelState): Response {
  const progress = requantizing.progress(id);
  const body: ModelStatusResponse = {
    model_id: id,
    status,
    ...defined({ error, pinned: isPinned }),
    ...(progress === undefined
      ? {}
      : { requantizing: { ggml_type: progress.type, progress: progress.permille / 1000 } }),
  };
  return Response.json(body);
}

/** The model that a command is about, if its caller may use it: of an alias its base model. */
async function modelId(deps: HttpDeps, request: Request): Promise<string> {
  const { model_id: name } = checkOperation(await readJsonObject(request));
  const meant = resolvedName(deps, name, false);
  refuseModel(callerOf(request).account, meant, cardOf(deps.models(), meant));
  return baseModelId(deps, name);
}

/** The cards of the models that a caller may use. */
async function usableCards(deps: HttpDeps, request: Request): Promise<readonly ModelObject[]> {
  const cards = await modelCards(deps);
  const { account } = callerOf(request);
  if (account?.models === undefined) return cards;
  return cards.filter((card) => mayUseModel(account, card));
}

/**
 * Card of the model that a path names. An id that contains escapes is accepted as it is or escaped once more. The paths of
 * POST routes name no model.
 */
async function findModel(deps: HttpDeps, request: Request): Promise<Response> {
  const raw = new URL(request.url).pathname.slice(MODELS_PATH.length);
  const ids = [raw, decodeURIComponent(raw)];
  const cards = await usableCards(deps, request);
  const named = (name: string) =>
    cards.find(({ id }) => id === name) ?? cards.find(({ root }) => root === name);
  const meant = ids.flatMap((id) => cardOf(deps.models(), resolvedName(deps, id, false))?.id ?? []);
  const card = [...ids, ...meant].map(named).find((one) => one !== undefined);
  if (card !== undefined) return Response.json(card);
  if (OPERATIONS.has(raw)) throw new NotFoundError();
  const message = `there is no model ${describeValue(ids[1])}; GET /v1/models lists the served models`;
  throw new ServiceError("model_not_found", message, { param: "id" });
}
