// Decides what a request is: plain generation, or an answer in which the server acts. All rules about which of its wishes
// can be met together live here.

import type { AgentRequest, Conversation } from "../core/agent.ts";
import { ServiceError } from "../core/error.ts";
import { TOOL_ROUNDS_MAX } from "./limits.ts";
import type { ToolSpec } from "../core/message.ts";
import type { ToolChoice } from "../core/run.ts";
import { type DispatchOptions, dispatchedTool } from "./dispatch.ts";
import type { ServerTool, ToolAsk, Toolset } from "./tool.ts";

export interface PlanDeps {
  readonly toolsets: readonly Toolset[];
  readonly dispatch?: DispatchOptions;
  /** Rounds where a request names none. */
  readonly maxToolRounds?: number;
}

export interface Plan {
  /** Whether the request has a session: it names one, or the server may act for it. */
  readonly hasSession: boolean;
  /** Whether there are tools whose calls the server makes. */
  readonly acts: boolean;
  /** What the model is shown: the server's tools, then the client's. */
  readonly specs: readonly ToolSpec[];
  /** How the first pass may use them. */
  readonly choice: ToolChoice;
  /** Tools that the server runs, by name. */
  readonly tools: ReadonlyMap<string, ServerTool>;
  /** Runs calls of names that nobody else knows. */
  readonly fallback: ((name: string) => ServerTool) | undefined;
  readonly clientNames: ReadonlySet<string>;
  readonly roundsMax: number;
  readonly systemTexts: readonly string[];
}

/** Throws ServiceError for a request that asks for what there is not, or for two things that exclude each other. */
export function planOf(
  deps: PlanDeps,
  { run, agent }: Conversation,
  surroundings: Omit<ToolAsk, "agent" | "model">,
): Plan {
  const { toolChoice } = run.prompt;
  const offers = deps.toolsets.map((offer) => offer({ agent, model: run.model, ...surroundings }));
  const roundsMax = agent.maxToolRounds ?? deps.maxToolRounds ?? TOOL_ROUNDS_MAX;
  const isOff = roundsMax === 0 || toolChoice.type === "none";
  const own = isOff
    ? []
    : withoutHelpers(
        offers.flatMap(({ tools }) => tools),
        run.choices,
      );
  const client = allowed(run.prompt.tools, toolChoice);
  refuseClashes(own, client);
  refuseFilesWithoutMaker(agent, own);
  const dispatch = isOff ? undefined : deps.dispatch;
  const isDispatched = dispatch !== undefined && client.length > 0;
  const acts = own.length > 0 || isDispatched;
  const specs = acts ? [...own.map(({ spec }) => spec), ...client] : run.prompt.tools;
  const asksToAct = !isOff && agent.maxToolRounds !== undefined;
  refuseChoices(run.choices, acts, agent);
  return {
    hasSession: agent.sessionId !== undefined || acts || (asksToAct && run.choices === 1),
    acts,
    specs,
    choice: choiceOf(toolChoice, specs, acts),
    tools: new Map(own.map((tool) => [tool.spec.name, tool])),
    fallback: dispatch === undefined ? undefined : (name) => dispatchedTool(specOf(name, client), dispatch),
    clientNames: new Set(isDispatched ? [] : client.map(({ name }) => name)),
    roundsMax,
    systemTexts: isOff ? [] : offers.flatMap(({ systemText }) => systemText ?? []),
  };
}

/** Several choices and tools exclude each other; tools that nobody asked for give way. */
function withoutHelpers(tools: readonly ServerTool[], choices: number): readonly ServerTool[] {
  return choices === 1 ? tools : tools.filter(({ isHelper }) => isHelper !== true);
}

/**
 * The client's functions that the model may call. A choice among them holds for the whole answer; that one of them must
 * be called, for the first pass alone.
 */
function allowed(tools: readonly ToolSpec[], choice: ToolChoice): readonly ToolSpec[] {
  if (choice.type === "none") return [];
  return choice.type === "named" ? tools.filter(({ name }) => choice.names.includes(name)) : tools;
}

/** The engine shows only the named tools of a named choice, which would hide the server's own. */
function choiceOf(choice: ToolChoice, specs: readonly ToolSpec[], acts: boolean): ToolChoice {
  if (acts && choice.type === "named" && !choice.required) return { type: "auto" };
  if (specs.length > 0) return choice;
  if (choice.type === "required" || (choice.type === "named" && choice.required)) {
    const message =
      "tool_choice asks for a tool call, but there is no tool that the model may call; send tools, or omit tool_choice";
    throw new ServiceError("invalid_request", message, { param: "tool_choice" });
  }
  return { type: "none" };
}

function refuseClashes(own: readonly ServerTool[], client: readonly ToolSpec[]): void {
  const names = new Set(own.map(({ spec }) => spec.name));
  const clash = client.find(({ name }) => names.has(name));
  if (clash === undefined) return;
  const message = `tools has a function named ${JSON.stringify(clash.name)}, which is the name of a tool of the server; rename it`;
  throw new ServiceError("invalid_request", message, { param: "tools" });
}

function refuseFilesWithoutMaker({ files }: AgentRequest, own: readonly ServerTool[]): void {
  if (files.length === 0 || own.some(({ makesFiles }) => makesFiles === true)) return;
  const message =
    "files needs a tool of the server that can make them: ask for code execution (a code_interpreter tool, or " +
    "enable_code_execution) or for the shell, with max_tool_rounds above 0, on a server where it is enabled";
  throw new ServiceError("invalid_request", message, { param: "files" });
}

/** Only one continuation can go on with what a tool said, and only one can be what a session remembers. */
function refuseChoices(choices: number, acts: boolean, { sessionId }: AgentRequest): void {
  if (choices === 1 || (!acts && sessionId === undefined)) return;
  const what = acts ? "tools that the server runs" : "session_id";
  const message = `n must be 1 together with ${what}; got ${choices}`;
  throw new ServiceError("contradictory_fields", message, { param: "n" });
}

function specOf(name: string, client: readonly ToolSpec[]): ToolSpec {
  const known = client.find((tool) => tool.name === name);
  return known ?? { name, parameters: { type: "object", properties: {} }, strict: false };
}
