// The part of the composition root that is about a chat in the terminal: models, tools and what answers conversations,
// without a server.

import { Approvals } from "../agent/approvals.ts";
import { createAdapters, loadAdapters, residentAdapters } from "./adapters.ts";
import { createAgent, toolLine } from "./agent.ts";
import { openMcp } from "./mcp.ts";
import type { ModelOptions } from "./model-files.ts";
import { createModels } from "./models.ts";
import { openSearch } from "./search.ts";
import { openStores } from "./stores.ts";
import type { ChatModel } from "../core/model-info.ts";
import { defined } from "../core/defined.ts";
import type { AgentRequest, AnswerApproval, Converse, WebSearch } from "../core/agent.ts";
import type { McpConfig } from "../core/mcp-config.ts";
import type { ModelInfo } from "../core/model-info.ts";
import type { Embed } from "../core/run.ts";
import { publicFetch } from "../net/public-fetch.ts";
import { openTools, type Tools } from "./tools.ts";

/** Somebody to talk with. */
export interface ChatPartner {
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

export interface ChatPartnerOptions extends ModelOptions {
  /** Servers whose tools models may call. */
  readonly mcp?: McpConfig;
}

/** Tries the tools out and loads the default model. Throws the reason why something that was asked for can't be. */
export async function openChat(options: ChatPartnerOptions): Promise<ChatPartner> {
  const { settings, log } = options;
  const tools = await openTools(settings, log);
  const mcp = openMcp(options.mcp, log);
  // The file of a server may be held by that server; a chat keeps what it must in memory.
  const inMemory = { ...settings, server: { ...settings.server, state: "memory" } };
  const stores = openStores({ settings: inMemory, log });
  const { files, sessions, skills } = stores;
  const resident = residentAdapters(options);
  const models = createModels(options, { resident });
  const adapters = createAdapters(models, resident, options);
  const { generate } = adapters;
  const approvals = new Approvals();
  const fetchPublic = publicFetch();
  const embed: Embed = (request, signal) => models.embed(request, signal);
  const web = openSearch({ settings, embed, fetchPublic, log });
  const surroundings = { settings, tools, mcp, files, sessions, skills, approvals, log };
  const agent = createAgent({ ...surroundings, web, generate, fetchFile: fetchPublic });
  const close = async (): Promise<void> => {
    approvals.close();
    await Promise.all([models.stop(), tools.close(), mcp?.close()]);
    stores.close();
  };
  try {
    await models.load("default");
    await loadAdapters(adapters, models, options);
    const cards = adapters.cards().filter(({ kind }) => kind === "text");
    return {
      model: firstModel(cards, settings.adapter),
      cards: cards.map(({ id, contextTokens, modalities, abilities }) => ({
        id,
        ...defined({ contextTokens, modalities, thinks: abilities?.thinks }),
      })),
      converse: adapters.withTarget(agent.converse),
      answerApproval: approvals.answer,
      tools: { ...switchedOn(tools), ...(web === undefined ? {} : { webSearch: ANY_SEARCH }) },
      toolLine: toolLine(tools, web, settings),
      close,
    };
  } catch (error) {
    await close();
    throw error;
  }
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

function switchedOn({ python, shell }: Tools): ChatPartner["tools"] {
  return {
    ...(python === undefined ? {} : { python: true }),
    ...(shell === undefined ? {} : { shell: { skills: [] } }),
  };
}
