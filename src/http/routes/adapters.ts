// LoRA adapters: list, load, unload. Loading and unloading exist only where the operator has enabled them.

import { Elysia } from "elysia";
import { ADAPTER_BODY_BYTES_MAX } from "../../dialects/shared/limits.ts";
import {
  LoadLoraAdapterRequest,
  LoraAdapterListResponse,
  LoraAdapterObject,
  UnloadLoraAdapterRequest,
} from "../../dialects/adapters/schema.ts";
import {
  adapterListBody,
  adapterObject,
  parseAdapterLoad,
  parseAdapterUnload,
} from "../../dialects/adapters/wire.ts";
import { readJsonObject } from "../body.ts";
import type { HttpDeps } from "../deps.ts";
import type { ApiComponents } from "../openapi.ts";

const TAGS = ["LoRA adapters"];

/** Adapter routes. */
export function adapterRoutes({ adapters }: HttpDeps, components: ApiComponents) {
  const app = new Elysia().get(
    "/v1/lora_adapters",
    ({ query }) =>
      Response.json(adapterListBody(adapters.list(query["model"] ?? "default"), adapters.isMutable)),
    {
      detail: {
        operationId: "list_lora_adapters",
        description: "Adapters by name, and the generations that requests still use.",
        tags: TAGS,
        summary: "List the adapters of a model",
        parameters: [
          {
            name: "model",
            in: "query",
            required: false,
            description: "Model id; the default model if omitted.",
            schema: { type: "string" },
          },
        ],
        responses: components.answers("Aliases, and generations in memory.", LoraAdapterListResponse),
      },
    },
  );
  if (!adapters.isMutable) return app;
  return app
    .post("/v1/load_lora_adapter", ({ request }) => load(adapters, request), {
      parse: "none", // body.ts reads it
      detail: {
        operationId: "load_lora_adapter",
        description:
          "From a folder, a GGUF file or a repository of the hub. Running requests keep the adapter that they began with.",
        tags: TAGS,
        summary: "Load an adapter, or replace one",
        requestBody: components.body(LoadLoraAdapterRequest),
        responses: components.answers("The adapter.", LoraAdapterObject),
      },
    })
    .post("/v1/unload_lora_adapter", ({ request }) => unload(adapters, request), {
      parse: "none",
      detail: {
        operationId: "unload_lora_adapter",
        description: "Its memory is freed after the last request that uses it.",
        tags: TAGS,
        summary: "Unload an adapter; running requests keep it",
        requestBody: components.body(UnloadLoraAdapterRequest),
        responses: components.answers("The unloaded adapter.", LoraAdapterObject),
      },
    });
}

async function load(adapters: HttpDeps["adapters"], request: Request): Promise<Response> {
  const body = parseAdapterLoad(await readJsonObject(request, ADAPTER_BODY_BYTES_MAX));
  return Response.json(adapterObject(await adapters.load(body.model, body.load), true));
}

async function unload(adapters: HttpDeps["adapters"], request: Request): Promise<Response> {
  const { model, alias, expectedGeneration } = parseAdapterUnload(
    await readJsonObject(request, ADAPTER_BODY_BYTES_MAX),
  );
  return Response.json(adapterObject(adapters.unload(model, alias, expectedGeneration), true));
}
