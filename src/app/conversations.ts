// The conversation backend without HTTP: the core with stores, tools, MCP servers, web search and the agent. The server and
// the terminal chat open it.

import { tmpdir } from "node:os";
import { Approvals } from "../agent/approvals.ts";
import type { Settings } from "../config/settings.ts";
import type { AnswerApproval, Converse } from "../core/agent.ts";
import type { McpConfig } from "../core/mcp-config.ts";
import { isFull, reasonOf } from "../core/reason.ts";
import type { Embed, Generate } from "../core/run.ts";
import { StartError } from "../core/start-error.ts";
import type { PageMcpServers } from "../mcp/page-servers.ts";
import type { McpServers } from "../mcp/servers.ts";
import { publicFetch } from "../net/public-fetch.ts";
import { defined } from "../core/defined.ts";
import type { AgentMeter } from "../core/telemetry.ts";
import type { Web } from "../search/types.ts";
import { createAgent, toolLine } from "./agent.ts";
import { type Core, openCore } from "./core.ts";
import { openMcp, openPageMcp } from "./mcp.ts";
import type { ModelOptions } from "../models/model-files.ts";
import type { ModelParts } from "./models.ts";
import { openSearch } from "./search.ts";
import { openStores, type Stores } from "./stores.ts";
import { openTools, type Tools } from "./tools.ts";
import { mediaReaders } from "./media.ts";

export interface ConversationOptions extends ModelOptions {
  /** Servers whose tools models may call. */
  readonly mcp?: McpConfig;
}

/** Parts that the server has and the terminal chat lacks. */
export interface ConversationParts {
  /** Counts what the agent loop does. */
  readonly meter?: AgentMeter;
  /** Counts the runs of conversations; those of a request under the name that it gave its model. */
  readonly counted?: (generate: Generate, by: "request" | "summary") => Generate;
  readonly models?: Omit<ModelParts, "resident">;
  /** Owner of records from before there were keys; absent where no key is needed. */
  readonly legacyOwner?: (() => string) | undefined;
  /** Keep records in memory whatever the settings say. */
  readonly isInMemory?: boolean;
}

/** Everything that answers conversations. */
export interface Conversations extends Core {
  readonly tools: Tools;
  readonly mcp: McpServers | undefined;
  readonly pageMcp: PageMcpServers;
  readonly stores: Stores;
  readonly embed: Embed;
  /** Absent where models may not search the web. */
  readonly web: Web | undefined;
  readonly converse: Converse;
  readonly answerApproval: AnswerApproval;
  /** Tools of the models in one line for the operator; undefined if there are none. */
  readonly toolLine: string | undefined;
  /** Whether a run or an answer is under way. */
  isBusy(): boolean;
  /** Rejects open approvals, so that answers that wait for one end. */
  closeApprovals(): void;
}

/** Tests the tools and opens everything; no model is loaded yet. Rejects with StartError. */
export async function openConversations(
  options: ConversationOptions,
  parts: ConversationParts = {},
): Promise<Conversations> {
  const tools = await checkedTools(options);
  const mcp = openMcp(options.mcp, options.log);
  try {
    return withTools(tools, mcp, options, parts);
  } catch (error) {
    await Promise.all([tools.close(), mcp?.close()]);
    throw error;
  }
}

async function checkedTools({ settings, log }: ConversationOptions): Promise<Tools> {
  try {
    return await openTools(settings, log);
  } catch (error) {
    const full = `${tmpdir()} is full, where tools have their files; make room, or set TMPDIR to another folder`;
    throw new StartError(isFull(error) ? full : reasonOf(error), { cause: error });
  }
}

function withTools(
  tools: Tools,
  mcp: McpServers | undefined,
  options: ConversationOptions,
  { models: modelParts, legacyOwner, isInMemory = false, meter, counted = (runs) => runs }: ConversationParts,
): Conversations {
  const { settings, log } = options;
  const core = openCore(options, modelParts);
  const { models, adapters } = core;
  const stores = openStores({ settings: isInMemory ? inMemory(settings) : settings, log }, legacyOwner);
  const pageMcp = openPageMcp(mcp, stores.state, options);
  const approvals = new Approvals();
  const fetchPublic = publicFetch();
  const embed: Embed = (request, signal, caller) => models.embed(request, signal, caller);
  const web = openSearch({ settings, embed, fetchPublic, log });
  const { files, sessions, skills } = stores;
  const surroundings = { settings, tools, mcp, pageMcp, files, sessions, skills, approvals, web, log };
  const agent = createAgent({
    ...surroundings,
    generate: adapters.generate,
    modelNamed: (name) => {
      const target = adapters.named(name);
      return { ...target, generate: counted(target.generate, "summary") };
    },
    fetchFile: fetchPublic,
    ...mediaReaders(),
    ...defined({ meter }),
  });
  return {
    ...core,
    tools,
    mcp,
    pageMcp,
    stores,
    embed,
    web,
    converse: adapters.withTarget((conversation, signal, caller) => {
      const { target } = conversation;
      const own = { ...target, generate: counted(target.generate, "request") };
      return agent.converse({ ...conversation, target: own }, signal, caller);
    }),
    answerApproval: approvals.answer,
    toolLine: toolLine(tools, web, settings),
    isBusy: () => models.activeRuns() - agent.summariesAhead() + agent.activeAnswers() > 0,
    closeApprovals: () => approvals.close(),
    stop: async () => void (await Promise.all([core.stop(), tools.close(), mcp?.close(), pageMcp.close()])),
  };
}

function inMemory(settings: Settings): Settings {
  return { ...settings, server: { ...settings.server, state: "memory" } };
}
