// Backend of a chat in the terminal: conversations without a server.

import { aliasParts } from "../config/alias-entry.ts";
import type { Settings } from "../config/settings.ts";
import { cardOf, type ChatModel, type ModelInfo } from "../core/model-info.ts";
import { type Preset, presetOfLayers, sourcesOfLayers } from "../core/preset.ts";
import { isServed, targetOf } from "../http/model-name.ts";
import { defined } from "../core/defined.ts";
import type { AgentRequest, AnswerApproval, Converse, WebSearch } from "../core/agent.ts";
import { loadAdapters } from "./adapters.ts";
import { type ConversationOptions, openConversations } from "./conversations.ts";
import type { Tools } from "./tools.ts";

/** Chat backend: models and tools of a conversation in the terminal. */
export interface ChatBackend {
  /** Name of the model to begin with. */
  readonly model: string;
  /** All models, adapters among them, the default one first. */
  readonly cards: readonly ChatModel[];
  readonly converse: Converse;
  readonly answerApproval: AnswerApproval;
  /** The tools that are switched on. */
  readonly tools: Partial<Pick<AgentRequest, "python" | "shell" | "webSearch">>;
  /** The same in words, for the person who begins the chat; undefined where there are none. */
  readonly toolLine: string | undefined;
  close(): Promise<void>;
}

/** Tests the tools and loads the default model. Throws the reason why a part that was requested is unavailable. */
export async function openChat(options: ConversationOptions): Promise<ChatBackend> {
  // A server may hold the file of its records; a chat keeps them in memory.
  const core = await openConversations(options, { isInMemory: true });
  const { models, adapters, tools, web } = core;
  const close = async (): Promise<void> => {
    core.closeApprovals();
    await core.stop();
    core.stores.close();
  };
  try {
    const { assistant, adapter } = options.settings;
    const alias = (options.settings.aliases ?? []).map(aliasParts).find(({ name }) => name === assistant);
    await models.load(alias?.model ?? "default");
    await loadAdapters(adapters, models, options);
    const cards = adapters.cards().filter(({ kind }) => kind === "text");
    const all = chatModels(cards, options.settings);
    return {
      model: assistant === undefined ? firstModel(cards, adapter) : chosenAlias(all, assistant),
      cards: all,
      converse: core.converse,
      answerApproval: core.answerApproval,
      tools: { ...switchedOn(tools), ...(web === undefined ? {} : { webSearch: ANY_SEARCH }) },
      toolLine: core.toolLine,
      close,
    };
  } catch (error) {
    await close();
    throw error;
  }
}

/** Models and aliases with their defaults. Of an alias with the name of a model, the model counts; patterns name nothing. */
function chatModels(cards: readonly ModelInfo[], settings: Settings): readonly ChatModel[] {
  const chatModel = (card: ModelInfo, alias: Preset = {}): ChatModel => {
    const { id, contextTokens, modalities, abilities } = card;
    const layers = { ...card.presets?.(), alias };
    return {
      id,
      ...defined({ contextTokens, modalities, thinks: abilities?.thinks, isBase: abilities?.isBase }),
      preset: presetOfLayers(layers),
      presetFrom: sourcesOfLayers(layers),
    };
  };
  const aliases = (settings.aliases ?? []).map(aliasParts).flatMap((alias): readonly ChatModel[] => {
    const { name, defaults } = alias;
    const card = cardOf(cards, targetOf(cards, alias));
    if (/[*?]/.test(name) || isServed(cards, name) || card === undefined) return [];
    return [{ ...chatModel(card, defaults), id: name, target: card.id }];
  });
  return [...cards.map((card) => chatModel(card)), ...aliases];
}

/** The alias of that name. Throws a sentence for people. */
function chosenAlias(cards: readonly ChatModel[], name: string): string {
  const known = cards.flatMap(({ id, target }) => (target === undefined ? [] : [id]));
  if (known.includes(name)) return name;
  const are = known.length === 0 ? "there are none; [[aliases]] add some" : `there are ${known.join(", ")}`;
  throw new Error(`no alias is named ${name}: ${are}`);
}

/** A search that nothing restricts. */
const ANY_SEARCH: WebSearch = {
  contextSize: "medium",
  unlimitedBudget: false,
  allowedDomains: [],
  blockedDomains: [],
};

/** The default model, or its adapter of that alias. */
function firstModel(cards: readonly ModelInfo[], alias: string | undefined): string {
  const id = cards[0]?.id ?? "default";
  if (alias === undefined) return id;
  const card = cards.find(({ parent, root }) => parent === id && root === alias);
  if (card !== undefined) return card.id;
  const known = cards.flatMap(({ parent, root }) => (parent === id && root !== undefined ? [root] : []));
  const are =
    known.length === 0 ? "it has none; --lora ALIAS=SOURCE loads one" : `it has ${known.join(", ")}`;
  throw new Error(`${id} has no adapter ${alias}: ${are}`);
}

function switchedOn({ python, shell }: Tools): ChatBackend["tools"] {
  return {
    ...(python === undefined ? {} : { python: true }),
    ...(shell === undefined ? {} : { shell: { skills: [] } }),
  };
}
