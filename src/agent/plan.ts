// Plans a request: plain generation or server tools, with the tool list and limits. Owns all rules about options that
// exclude each other.

import type { AgentRequest, Conversation } from "../core/agent.ts";
import { ServiceError } from "../core/error.ts";
import { TOOL_ROUNDS_MAX } from "./limits.ts";
import type { ToolSpec } from "../core/message.ts";
import type { ToolChoice } from "../core/run.ts";
import type { AgentMeter } from "../core/telemetry.ts";
import { type Deferral, deferralOf, markedSpecs } from "./deferral.ts";
import { type DispatchOptions, dispatchedTool } from "./dispatch.ts";
import type { ServerTool, ToolRequest, Toolset } from "./tool.ts";

export interface PlanDeps {
  readonly toolsets: readonly Toolset[];
  readonly dispatch?: DispatchOptions;
  /** Tokens of definitions in a prompt; absent: a share of the model's context. */
  readonly toolsInPrompt?: number;
  readonly meter?: AgentMeter;
  /** Rounds if a request sets none. */
  readonly maxToolRounds?: number;
}

export interface Plan {
  /** Whether the request has a session: it names one, or server tools are enabled for it. */
  readonly hasSession: boolean;
  /** Whether the server executes tool calls. */
  readonly acts: boolean;
  /** Tools in the prompt: the server's, then the client's. */
  readonly specs: readonly ToolSpec[];
  /** Tool choice of the first pass. */
  readonly choice: ToolChoice;
  /** Tools that the prompt does not show. */
  readonly deferral: Deferral | undefined;
  /** The server runs nothing but searches that the client knows nothing of: it is shown none. */
  readonly isQuiet: boolean;
  /** Tools that the server runs, by name. */
  readonly tools: ReadonlyMap<string, ServerTool>;
  /** Tool for calls of any other name. */
  readonly fallback: ((name: string) => ServerTool) | undefined;
  readonly clientNames: ReadonlySet<string>;
  readonly roundsMax: number;
  readonly systemTexts: readonly string[];
  /** Context of the model; undefined if unknown. */
  readonly contextTokens: number | undefined;
}

/** Throws ServiceError for a request for an unavailable capability, or for options that exclude each other. */
export function planOf(
  deps: PlanDeps,
  { run, agent }: Conversation,
  surroundings: Omit<ToolRequest, "agent" | "model">,
): Plan {
  const { toolChoice } = run.prompt;
  const offers = deps.toolsets.map((offer) => offer({ agent, model: run.model, ...surroundings }));
  const roundsMax = agent.maxToolRounds ?? deps.maxToolRounds ?? TOOL_ROUNDS_MAX;
  const isOff = roundsMax === 0 || toolChoice.type === "none";
  const executed = isOff
    ? []
    : withoutHelpers(
        offers.flatMap(({ tools }) => tools),
        run.choices,
      );
  const client = allowed(run.prompt.tools, toolChoice);
  const deferral =
    isOff || run.choices > 1
      ? undefined
      : deferralOf({
          own: executed,
          client,
          choice: toolChoice,
          messages: run.prompt.messages,
          search: agent.toolSearch,
          contextTokens: surroundings.contextTokens,
          tokensMax: deps.toolsInPrompt,
          onFound: (found) => deps.meter?.searched(found),
        });
  const own = deferral?.search === undefined ? executed : [...executed, deferral.search];
  refuseClashes(own, client);
  refuseFilesWithoutMaker(agent, own);
  const dispatch = isOff ? undefined : deps.dispatch;
  const isDispatched = dispatch !== undefined && client.length > 0;
  const acts = own.length > 0 || isDispatched;
  const all = acts ? [...own.map(({ spec }) => spec), ...client] : run.prompt.tools;
  const specs = deferral === undefined ? all.map(shownSpec) : markedSpecs(all, deferral, run.prompt.messages);
  const asksToAct = !isOff && agent.maxToolRounds !== undefined;
  refuseChoices(run.choices, acts, agent);
  return {
    hasSession: agent.sessionId !== undefined || acts || (asksToAct && run.choices === 1),
    acts,
    specs,
    choice: choiceOf(toolChoice, specs, acts),
    deferral,
    isQuiet: deferral?.isAsked === false && own.length === 1 && !isDispatched && !isAware(agent),
    tools: new Map(own.map((tool) => [tool.spec.name, tool])),
    fallback: dispatch === undefined ? undefined : (name) => dispatchedTool(specOf(name, client), dispatch),
    clientNames: new Set(isDispatched ? [] : client.map(({ name }) => name)),
    roundsMax,
    contextTokens: surroundings.contextTokens,
    systemTexts: isOff
      ? []
      : offers.flatMap(({ tools, systemText = "" }) =>
          systemText !== "" && tools.some((tool) => own.includes(tool)) ? [systemText] : [],
        ),
  };
}

/** The prompt shows a tool although it could be left out. */
function shownSpec(spec: ToolSpec): ToolSpec {
  if (spec.deferred === undefined) return spec;
  const { deferred: _, ...shown } = spec;
  return shown;
}

/** Whether the client knows of tools that the server runs. */
function isAware({ maxToolRounds, sessionId }: AgentRequest): boolean {
  return maxToolRounds !== undefined || sessionId !== undefined;
}

/** Several choices and tools exclude each other; tools that the request did not ask for are dropped. */
function withoutHelpers(tools: readonly ServerTool[], choices: number): readonly ServerTool[] {
  return choices === 1 ? tools : tools.filter(({ isHelper }) => isHelper !== true);
}

/**
 * The client's functions that the model may call. The restriction of `tool_choice` applies to the whole answer, its
 * requirement to the first pass only.
 */
function allowed(tools: readonly ToolSpec[], choice: ToolChoice): readonly ToolSpec[] {
  if (choice.type === "none") return [];
  return choice.type === "named" ? tools.filter(({ name }) => choice.names.includes(name)) : tools;
}

/** For a named choice the engine shows only the named tools, which would hide the server's. */
function choiceOf(choice: ToolChoice, specs: readonly ToolSpec[], acts: boolean): ToolChoice {
  if (acts && choice.type === "named" && !choice.required) return { type: "auto" };
  if (specs.length > 0) return choice;
  if (choice.type === "required" || (choice.type === "named" && choice.required)) {
    const message =
      "tool_choice requires a tool call, but the request has no tool that the model may call; send tools, or omit tool_choice";
    throw new ServiceError("invalid_request", message, { param: "tool_choice" });
  }
  return { type: "none" };
}

function refuseClashes(own: readonly ServerTool[], client: readonly ToolSpec[]): void {
  const names = new Set(own.map(({ spec }) => spec.name));
  const clash = client.find(({ name }) => names.has(name));
  if (clash === undefined) return;
  const message = `tools has a function named ${JSON.stringify(clash.name)}, which is the name of a server tool; rename it`;
  throw new ServiceError("invalid_request", message, { param: "tools" });
}

function refuseFilesWithoutMaker({ files }: AgentRequest, own: readonly ServerTool[]): void {
  if (files.length === 0 || own.some(({ makesFiles }) => makesFiles === true)) return;
  const message =
    "files requires a server tool that can produce them: request code execution (a code_interpreter tool, or " +
    "enable_code_execution) or for the shell, with max_tool_rounds above 0, on a server where it is enabled";
  throw new ServiceError("invalid_request", message, { param: "files" });
}

/** Only one choice can continue with a tool result, and a session stores only one. */
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
