// The agent of the composition root: from settings and executors to the loop that answers conversations.

import type { Approvals } from "../agent/approvals.ts";
import { Summaries } from "../agent/ahead.ts";
import { agentConverse, type ConverseDeps } from "../agent/converse.ts";
import type { Toolset } from "../agent/tool.ts";
import { tokenCounter } from "../agent/count-tokens.ts";
import { disabledToolset } from "../agent/tools/disabled.ts";
import { fileToolset } from "../agent/tools/files.ts";
import { mcpToolset } from "../agent/tools/mcp.ts";
import { pythonToolset } from "../agent/tools/python.ts";
import { searchToolset } from "../agent/tools/search.ts";
import { type ResolvedSkills, shellToolset } from "../agent/tools/shell.ts";
import { defined } from "../core/defined.ts";
import { afterFirstTry, afterOwnTry } from "../mcp/first-connect.ts";
import type { Settings } from "../config/settings.ts";
import type { Converse, SkillReference, TargetedConversation } from "../core/agent.ts";
import type { Generate } from "../core/run.ts";
import type { Skills } from "../core/skills.ts";
import { skillFolder } from "../exec/names.ts";
import type { PageMcpServers } from "../mcp/page-servers.ts";
import type { McpServers } from "../mcp/servers.ts";
import type { Web } from "../search/types.ts";
import type { SessionStore } from "../sessions/store.ts";
import { skillsText } from "../skills/text.ts";
import type { Tools } from "./tools.ts";

export interface AgentOptions extends Pick<
  ConverseDeps,
  "files" | "fetchFile" | "readVideo" | "converters" | "log" | "meter" | "modelNamed"
> {
  readonly generate: Generate;
  readonly settings: Settings;
  readonly tools: Tools;
  readonly mcp: McpServers | undefined;
  readonly pageMcp: PageMcpServers;
  readonly sessions: SessionStore;
  readonly approvals: Approvals;
  readonly skills: Skills;
  /** Absent where models may not search it. */
  readonly web: Web | undefined;
}

/** Answers conversations. */
export interface Agent {
  readonly converse: Converse<TargetedConversation>;
  /** Answers in progress. Between two passes of an answer no engine has a run of it. */
  activeAnswers(): number;
  /** Runs that write a summary for a later answer; no request waits for them. */
  summariesAhead(): number;
}

/** The loop over everything that it needs. Sessions that end take their interpreters and folders along. */
export function createAgent(options: AgentOptions): Agent {
  const { settings, tools, mcp, pageMcp, skills: _, web: __, ...deps } = options;
  const { sessions, log } = deps;
  const {
    max_tool_rounds: maxToolRounds,
    tools_in_prompt: toolsInPrompt,
    tool_dispatch_url: url,
    tool_dispatch_timeout: secs,
  } = settings.server;
  let active = 0;
  const summaries = new Summaries();
  const answer = agentConverse({
    ...deps,
    summaries,
    sessions: sessions.of,
    toolsets: toolsetsOf(options),
    permission: settings.runtime.agent_permission,
    approvalScope: settings.runtime.approval_scope,
    ...defined({ maxToolRounds, toolsInPrompt }),
    ...(url === undefined ? {} : { dispatch: { url, timeoutMs: secs * 1000 } }),
    onAnswer: (change) => void (active += change),
  });
  sessions.onEnd((id) => {
    for (const executor of [tools.python, tools.shell]) {
      executor
        ?.dispose(id)
        .catch((error: unknown) => log(`a session's folder could not be deleted: ${String(error)}`));
    }
  });
  const converse = afterOwnTry(pageMcp, answer);
  return {
    converse: mcp === undefined ? converse : afterFirstTry(mcp, settings.server.queue_max, converse),
    activeAnswers: () => active,
    summariesAhead: () => summaries.writing,
  };
}

/** The tools of models in one line for the operator; undefined without tools. */
export function toolLine(tools: Tools, web: Web | undefined, { runtime }: Settings): string | undefined {
  const parts = [...executorLines(tools, runtime), ...(web === undefined ? [] : [searchLine(runtime)])];
  return parts.length === 0 ? undefined : parts.join(", ");
}

function executorLines(
  { python, shell, protection }: Tools,
  runtime: Settings["runtime"],
): readonly string[] {
  if (protection === undefined) return [];
  const names = [
    ...(python === undefined ? [] : [python.facts.version]),
    ...(shell === undefined ? [] : [`shell ${shell.facts.shell}`]),
  ];
  const { mechanism, filesystem, network, reachesMachine, caps } = protection;
  const reach =
    network !== "full" ? "" : reachesMachine ? ", this machine included" : " without this machine";
  const sandbox =
    mechanism === "none"
      ? "not confined"
      : `confined by ${mechanism}, files: ${filesystem}, network: ${network}${reach}, caps: ${caps ?? "none"}`;
  return [`${names.join(", ")} (${sandbox}; permission: ${runtime.agent_permission})`];
}

function searchLine({ search_provider: provider }: Settings["runtime"]): string {
  return `web search (${provider})`;
}

/** The server's tools, in the order in which models are shown them. */
function toolsetsOf({ tools, pageMcp, files, skills, web, generate }: AgentOptions): readonly Toolset[] {
  const { python, shell, protection } = tools;
  const canMakeFiles = python !== undefined || shell !== undefined;
  return [
    python === undefined || protection === undefined
      ? disabledToolset("python")
      : pythonToolset(python, protection),
    shell === undefined || protection === undefined
      ? disabledToolset("shell")
      : shellToolset({ shell, protection, resolveSkills: (references) => resolved(skills, references) }),
    web === undefined
      ? disabledToolset("search")
      : searchToolset({ web, countTokens: tokenCounter(generate) }),
    ...(canMakeFiles ? [] : [disabledToolset("files")]),
    fileToolset(files),
    mcpToolset(
      (selection, caller) => pageMcp.tools(selection, caller),
      (selection, caller) => pageMcp.assets(selection, caller),
    ),
  ];
}

/** Skills as the shell mounts them, and their text for the model. */
function resolved(skills: Skills, references: readonly SkillReference[]): ResolvedSkills {
  const versions = references.map((reference, index) => skills.resolve(reference, `skills[${index}]`));
  const systemText = skillsText(versions.map((skill) => ({ skill, folder: skillFolder(skill.name) })));
  return {
    skills: versions.map(({ name, dir }) => ({ name, dir })),
    ...defined({ systemText }),
  };
}
