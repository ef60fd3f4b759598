// Cards of served models: what /v1/models says about each.

import { type Static, Type } from "@sinclair/typebox";
import { defined } from "../core/defined.ts";
import { ANY_MEDIA } from "../core/media.ts";
import type { Modality } from "../core/message.ts";
import {
  cardOf,
  CHAT_TEMPLATE_SOURCES,
  type ModelFileFacts,
  type ModelInfo,
  type TextAbilities,
} from "../core/model-info.ts";
import {
  Preset,
  PRESET_SOURCES,
  type PresetLayers,
  presetOfLayers,
  sourcesOfLayers,
} from "../core/preset.ts";
import type { HttpDeps } from "./deps.ts";
import { mediaCard, ModelMedia } from "./media-card.ts";
import { isServed } from "./model-name.ts";

export const ModelStatus = Type.Union(
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

/** Whether a model is pinned. */
export const pinned = () =>
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

export const ModelObject = Type.Object(
  {
    id: Type.String({ description: "Value for the field `model` of requests." }),
    object: Type.Literal("model"),
    created: Type.Integer({ minimum: 0, description: "Unix seconds." }),
    owned_by: Type.String({ description: "Owner of the model, by convention." }),
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
    media: Type.Optional(ModelMedia),
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
        description:
          "The most memory that it takes: weights, buffers, the whole cache, and copies of evicted prefixes as they are now, bytes.",
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
export type ModelObject = Static<typeof ModelObject>;

/** Cards of all models and assistants. Tools belong to the server, so every card lists the same ones. */
export async function modelCards({ models, toolCounts, aliases }: HttpDeps): Promise<readonly ModelObject[]> {
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
  const cards = new Map(
    await Promise.all(all.map(async (model) => [model, fullCard(model, await model.file?.())] as const)),
  );
  return [
    ...[...cards].map(([model, card]) => ({
      ...card,
      ...(model.abilities?.generates === false ? {} : defaultsOf(model.presets?.())),
    })),
    ...assistants.flatMap(({ name, model, adapter, defaults }) => {
      const base = isServed(all, name) ? undefined : cardOf(all, model);
      const card = base && cards.get(base);
      if (base === undefined || card === undefined) return [];
      const layers = { ...base.presets?.(), ...(defaults && { alias: defaults }) };
      return [{ ...card, id: name, parent: base.id, root: adapter ?? base.id, ...defaultsOf(layers) }];
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
  const { contextTokens, abilities, placement, isPinned, error, leavesOut, mediaLimits } = model;
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
    ...defined({ media: modalities && mediaCard({ ...ANY_MEDIA, ...mediaLimits, modalities }) }),
    ...(contextTokens === undefined ? {} : { context_length: contextTokens, max_model_len: contextTokens }),
    ...(abilities === undefined ? {} : { capabilities: capabilitiesOf(abilities, modalities ?? []) }),
    ...defined({ placement, root, parent, adapter_generation: adapterGeneration }),
  };
}
