// GET /v1/models: one card per served model. POST /v1/models/status, /unload, /reload, /pin, /unpin: status and life cycle.

import { type Static, Type } from "@sinclair/typebox";
import { Elysia, NotFoundError } from "elysia";
import { defined } from "../../core/defined.ts";
import {
  Preset,
  PRESET_SOURCES,
  type PresetLayers,
  presetOfLayers,
  sourcesOfLayers,
} from "../../core/preset.ts";
import { ServiceError } from "../../core/error.ts";
import type { Modality } from "../../core/message.ts";
import {
  CHAT_TEMPLATE_SOURCES,
  type ModelFileFacts,
  type ModelInfo,
  type ModelState,
  type TextAbilities,
} from "../../core/model-info.ts";
import { checker, orNull, describeValue } from "../../dialects/shared/check.ts";
import { readJsonObject } from "../body.ts";
import type { HttpDeps } from "../deps.ts";
import type { ApiComponents } from "../openapi.ts";
import { DEEP_PATH } from "../route-table.ts";
import { hubFor } from "../hub.ts";
import { cardOf, isServed, resolvedName } from "../model-name.ts";
import { refuseWhileDraining } from "../run.ts";

const MODELS_PATH = "/v1/models/";
/** Last segments of POST routes; a GET of one is the wrong method, not an unknown model. */
const OPERATIONS = new Set(["status", "unload", "reload", "pin", "unpin", "tune"]);

const ModelStatus = Type.Union(
  [Type.Literal("loaded"), Type.Literal("unloaded"), Type.Literal("reloading")],
  {
    $id: "ModelStatus",
    description:
      "`loaded`: ready; `reloading`: being loaded, requests wait; `unloaded`: the next request loads it.",
  },
);

const ModelKind = Type.Union([Type.Literal("text"), Type.Literal("image"), Type.Literal("speech")], {
  $id: "ModelKind",
  description: "Kind of output, which determines the endpoints it serves.",
});

const pinned = () =>
  Type.Optional(
    Type.Boolean({
      description:
        "It is unloaded neither for another model nor when idle; absent where this server does not load it.",
    }),
  );

const can = (description: string) => Type.Boolean({ description });
const ModelCapabilities = Type.Object(
  {
    tools: can("Supports tool calls."),
    vision: can("Accepts images."),
    audio: can("Accepts audio."),
    reasoning: can("Supports reasoning."),
    embeddings: can("Computes embeddings."),
  },
  { $id: "ModelCapabilities", description: "Of a text model; absent until it has been loaded once." },
);

const ModelDefaults = Type.Object(
  { ...Preset.properties, system: Type.Optional(Type.Boolean({ description: "It has instructions." })) },
  { $id: "ModelDefaults", description: "What requests get where they do not say; absent without any." },
);

const ModelDefaultsFrom = Type.Record(
  Type.String(),
  Type.Union(PRESET_SOURCES.map((source) => Type.Literal(source))),
  {
    $id: "ModelDefaultsFrom",
    description:
      "Whose word each of the defaults is: the alias, the model's settings, its file, its repository or svc.",
  },
);

const ModelObject = Type.Object(
  {
    id: Type.String({ description: "Value for the field `model` of requests." }),
    object: Type.Literal("model"),
    created: Type.Integer({ minimum: 0, description: "Unix seconds." }),
    owned_by: Type.String(),
    kind: ModelKind,
    status: ModelStatus,
    error: Type.Optional(Type.String({ description: "Why it could not be loaded." })),
    template_leaves_out: Type.Optional(
      Type.Array(Type.String(), {
        description: "Parts of a conversation that its chat template does not show: `text beside calls`.",
      }),
    ),
    pinned: pinned(),
    modalities: Type.Optional(
      Type.Array(Type.Union([Type.Literal("image"), Type.Literal("audio")]), {
        description: "Input besides text; absent until the model has been loaded once.",
      }),
    ),
    context_length: Type.Optional(
      Type.Integer({
        description:
          "Maximum tokens of a prompt with its answer; absent until the model has been loaded once.",
      }),
    ),
    max_model_len: Type.Optional(
      Type.Integer({ description: "The same as `context_length`, under vLLM's name." }),
    ),
    capabilities: Type.Optional(ModelCapabilities),
    placement: Type.Optional(
      Type.String({ description: "Where its layers are computed; absent: on the CPU without a choice." }),
    ),
    family: Type.Optional(
      Type.String({
        description:
          "Architecture: `qwen3`. This and the next six: of a text model with a file on this machine.",
      }),
    ),
    parameters: Type.Optional(Type.Integer({ minimum: 0, description: "Number of parameters." })),
    quantization: Type.Optional(Type.String({ description: "Type of most weights: `Q4_K_M`." })),
    trained_context_length: Type.Optional(
      Type.Integer({ minimum: 0, description: "Longest context that it was trained for, tokens." }),
    ),
    license: Type.Optional(Type.String({ description: "As the file states it." })),
    size_bytes: Type.Optional(Type.Integer({ minimum: 0, description: "Size on disk, bytes." })),
    chat_template: Type.Optional(
      Type.Union(
        CHAT_TEMPLATE_SOURCES.map((source) => Type.Literal(source)),
        {
          description:
            "Where the chat template is from; `none`: probably a base model, which continues the text of a conversation.",
        },
      ),
    ),
    resident_bytes: Type.Optional(
      Type.Integer({
        minimum: 0,
        description: "Memory that it takes now, bytes; absent while it is not loaded.",
      }),
    ),
    memory_bytes: Type.Optional(
      Type.Integer({
        minimum: 0,
        description: "The most memory that it takes: weights, buffers and the whole cache, bytes.",
      }),
    ),
    root: Type.Optional(
      Type.String({ description: "Public source: the hub repository, or the adapter's alias." }),
    ),
    parent: Type.Optional(Type.String({ description: "Base model of an adapter." })),
    adapter_generation: Type.Optional(Type.String({ description: "Current generation of an adapter." })),
    defaults: Type.Optional(ModelDefaults),
    defaults_from: Type.Optional(ModelDefaultsFrom),
    tools_available: Type.Optional(
      Type.Boolean({ description: "Whether the server offers tools to its models." }),
    ),
    mcp_tools_count: Type.Optional(
      Type.Integer({ minimum: 0, description: "Number of tools of the connected MCP servers." }),
    ),
    mcp_servers_connected: Type.Optional(
      Type.Integer({ minimum: 0, description: "Number of connected MCP servers." }),
    ),
  },
  { $id: "ModelObject", description: "A model card." },
);
type ModelObject = Static<typeof ModelObject>;

const ModelObjects = Type.Object(
  { object: Type.Literal("list"), data: Type.Array(ModelObject) },
  { $id: "ModelObjects" },
);

const ModelOperationRequest = Type.Object(
  { model_id: Type.String({ minLength: 1, description: "A name that requests accept as `model`." }) },
  { $id: "ModelOperationRequest", examples: [{ model_id: "default" }] },
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
          ggml_type: Type.String(),
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
  { $id: "ModelStatusResponse" },
);
type ModelStatusResponse = Static<typeof ModelStatusResponse>;

const checkOperation = checker(ModelOperationRequest);

/** Model routes. */
export function modelRoutes(deps: HttpDeps, components: ApiComponents) {
  const app = new Elysia();
  if (deps.hub !== undefined) app.use(pinRoutes(deps, components));
  return app
    .get("/v1/models", async () => Response.json({ object: "list", data: await modelCards(deps) }), {
      detail: {
        operationId: "list_models",
        tags: ["Models"],
        summary: "List the served models",
        responses: components.answers("The models; the default one comes first.", ModelObjects),
      },
    })
    .get(DEEP_PATH, ({ request }) => findModel(deps, request), {
      detail: {
        operationId: "get_model",
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
      operation(components, "get_model_status", "Get the status of a model"),
    )
    .post(
      "/v1/models/unload",
      async ({ request }) => stateAnswer(deps, await control.unload(await modelId(deps, request))),
      operation(components, "unload_model", "Unload a model after its running requests"),
    )
    .post(
      "/v1/models/reload",
      async ({ request }) => {
        refuseWhileDraining(deps);
        return stateAnswer(deps, await control.reload(await modelId(deps, request)));
      },
      operation(components, "reload_model", "Reload a model after its running requests"),
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
      operation(components, "pin_model", `Never unload a model ${unload}, until the server ends`),
    )
    .post(
      "/v1/models/unpin",
      ({ request }) => pin(request, false),
      operation(components, "unpin_model", `Unload a pinned model again ${unload}`),
    );
}

function operation(components: ApiComponents, operationId: string, summary: string) {
  return {
    parse: "none" as const, // body.ts reads it
    detail: {
      operationId,
      tags: ["Models"],
      summary,
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

/** The model that a command is about: of an alias its base model. */
async function modelId(deps: HttpDeps, request: Request): Promise<string> {
  const { model_id: name } = checkOperation(await readJsonObject(request));
  const resolved = resolvedName(deps, name, false);
  return resolved === name ? name : (cardOf(deps.models(), resolved)?.parent ?? resolved);
}

/**
 * Card of the model that a path names. An id that contains escapes is accepted as it is or escaped once more. The paths of
 * POST routes name no model.
 */
async function findModel(deps: HttpDeps, request: Request): Promise<Response> {
  const raw = new URL(request.url).pathname.slice(MODELS_PATH.length);
  const ids = [raw, decodeURIComponent(raw)];
  const models = await modelCards(deps);
  const named = (name: string) =>
    models.find(({ id }) => id === name) ?? models.find(({ root }) => root === name);
  const found = ids.map(named).find((card) => card !== undefined);
  const alias = ids.map((id) => deps.aliases?.exact(id)).find((one) => one !== undefined);
  const aliased = alias?.model === "default" ? models[0] : alias && named(alias.model);
  if (OPERATIONS.has(raw) && found === undefined && aliased === undefined) throw new NotFoundError();
  const card = found ?? aliased ?? named(resolvedName(deps, ids[1] ?? raw, false));
  if (card !== undefined) return Response.json(card);
  const message = `there is no model ${describeValue(ids[1])}; GET /v1/models lists the served models`;
  throw new ServiceError("model_not_found", message, { param: "id" });
}

/** Tools belong to the server, so every card lists the same ones. */
async function modelCards({ models, toolCounts, aliases }: HttpDeps): Promise<readonly ModelObject[]> {
  const counts = toolCounts?.();
  const tools =
    counts === undefined
      ? {}
      : {
          tools_available: counts.isAny,
          mcp_tools_count: counts.mcpTools,
          mcp_servers_connected: counts.mcpServers,
        };
  const all = models();
  const assistants = aliases?.assistants() ?? [];
  const cards = new Map<string, ModelObject>();
  for (const model of all) cards.set(model.id, fullCard(model, await model.file?.()));
  const cardOfModel = (model: ModelInfo): ModelObject => cards.get(model.id) ?? modelCard(model);
  return [
    ...all.map((model) => ({
      ...cardOfModel(model),
      ...(model.abilities?.generates === false ? {} : defaultsOf(model.presets?.())),
    })),
    ...assistants.flatMap(({ name, model, adapter, defaults }) => {
      const base = isServed(all, name) ? undefined : cardOf(all, model);
      if (base === undefined) return [];
      const layers = { ...base.presets?.(), ...(defaults && { alias: defaults }) };
      return [
        { ...cardOfModel(base), id: name, parent: base.id, root: adapter ?? base.id, ...defaultsOf(layers) },
      ];
    }),
  ].map((card) => ({ ...card, ...tools }));
}

/** The defaults on a card; the text of instructions stays with the operator. */
function defaultsOf(layers: PresetLayers = {}): Pick<ModelObject, "defaults" | "defaults_from"> {
  const { system, stop, ...others } = presetOfLayers(layers);
  const defaults = {
    ...others,
    ...(stop === undefined ? {} : { stop: [...stop] }),
    ...(system === undefined ? {} : { system: true }),
  };
  if (Object.keys(defaults).length === 0) return {};
  return { defaults, defaults_from: { ...sourcesOfLayers(layers) } };
}

/** Every model with a chat template has a format for tool calls; a base model was trained for none. */
function capabilitiesOf(
  { generates, embeds, thinks, isBase }: TextAbilities,
  modalities: readonly Modality[],
): Static<typeof ModelCapabilities> {
  return {
    tools: generates && isBase !== true,
    vision: modalities.includes("image"),
    audio: modalities.includes("audio"),
    reasoning: thinks,
    embeddings: embeds && !generates, // as in Ollama's cards: clients sort chat models out by it
  };
}

/** A card with what the file says: of abilities only until the model is loaded. */
function fullCard(model: ModelInfo, file: ModelFileFacts | undefined): ModelObject {
  return { ...modelCard({ ...file?.card, ...model }), ...fileCard(file), ...memoryCard(model) };
}

function fileCard(file: ModelFileFacts | undefined): Partial<ModelObject> {
  if (file === undefined) return {};
  const { architecture, parameters, quantization, contextTokens, license, sizeBytes, memoryBytes } = file;
  const { chatTemplate } = file;
  return {
    ...defined({ family: architecture, quantization, trained_context_length: contextTokens, license }),
    parameters,
    chat_template: chatTemplate,
    size_bytes: sizeBytes,
    memory_bytes: memoryBytes,
  };
}

/** Of a loaded model, what its engine has taken instead of what its file lets one expect. */
function memoryCard({ memory }: ModelInfo): Partial<ModelObject> {
  const { now, most } = memory?.() ?? {};
  return defined({ resident_bytes: now, memory_bytes: most });
}

function modelCard(model: ModelInfo): ModelObject {
  const { id, kind, created, ownedBy, status, modalities, root, parent, adapterGeneration } = model;
  const { contextTokens, abilities, placement, isPinned, error, leavesOut } = model;
  return {
    id,
    object: "model",
    created,
    owned_by: ownedBy,
    kind,
    status,
    ...defined({ error, pinned: isPinned }),
    ...(leavesOut === undefined ? {} : { template_leaves_out: [...leavesOut] }),
    ...(modalities === undefined ? {} : { modalities: [...modalities] }),
    ...(contextTokens === undefined ? {} : { context_length: contextTokens, max_model_len: contextTokens }),
    ...(abilities === undefined ? {} : { capabilities: capabilitiesOf(abilities, modalities ?? []) }),
    ...defined({ placement, root, parent, adapter_generation: adapterGeneration }),
  };
}
