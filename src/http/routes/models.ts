// GET /v1/models: one card a served model.

import { type Static, Type } from "@sinclair/typebox";
import { Elysia } from "elysia";
import type { ModelInfo } from "../../core/model-info.ts";
import type { HttpDeps } from "../deps.ts";
import type { ApiComponents } from "../openapi.ts";

const ModelObject = Type.Object(
  {
    id: Type.String({ description: "What to send as `model`." }),
    object: Type.Literal("model"),
    created: Type.Integer({ minimum: 0, description: "Unix seconds." }),
    owned_by: Type.String(),
    status: Type.Union([Type.Literal("loaded"), Type.Literal("unloaded"), Type.Literal("reloading")]),
    parent: Type.Optional(Type.String({ description: "Of an adapter: its base model." })),
    root: Type.Optional(Type.String({ description: "Of an adapter: its alias." })),
    adapter_generation: Type.Optional(Type.String({ description: "Of an adapter: its generation now." })),
  },
  { $id: "ModelObject", description: "A model card." },
);
type ModelObject = Static<typeof ModelObject>;

const ModelObjects = Type.Object(
  { object: Type.Literal("list"), data: Type.Array(ModelObject) },
  { $id: "ModelObjects" },
);

/** Model routes. */
export function modelRoutes(deps: HttpDeps, components: ApiComponents) {
  return new Elysia().get(
    "/v1/models",
    () => Response.json({ object: "list", data: deps.models().map(modelCard) }),
    {
      detail: {
        operationId: "list_models",
        tags: ["Models"],
        summary: "List the served models",
        responses: components.answers("The models; the default one comes first.", ModelObjects),
      },
    },
  );
}

function modelCard(model: ModelInfo): ModelObject {
  return {
    id: model.id,
    object: "model",
    created: model.created,
    owned_by: model.ownedBy,
    status: model.status,
    ...(model.parent === undefined ? {} : { parent: model.parent }),
    ...(model.root === undefined ? {} : { root: model.root }),
    ...(model.adapterGeneration === undefined ? {} : { adapter_generation: model.adapterGeneration }),
  };
}
