// Agent loop: passes of the model with rounds of server tools between them. Sits between dialects and the engine; without
// server tools a conversation is a single run, passed through. Knows no kind of tool.
// The client sees one answer: joined texts without a separator (an answer by a schema must stay JSON), one usage, one end. `max_tokens` and
// `max_tool_rounds` count over all passes, a required call applies to the first. After the last round one pass without tools answers.

import type {
  AgentEvent,
  AnswerEvent,
  ApprovalScope,
  Conversation,
  Converse,
  InputPart,
  Permission,
  TargetedConversation,
} from "../core/agent.ts";
import type { Caller, ForCaller } from "../core/caller.ts";
import { defined } from "../core/defined.ts";
import { ServiceError } from "../core/error.ts";
import type { Files } from "../core/files.ts";
import type { Message, ToolSpec } from "../core/message.ts";
import type { RunEvent, RunRequest, ToolChoice } from "../core/run.ts";
import type { OpenSession, Sessions } from "../core/sessions.ts";
import type { ModelFacts } from "../core/target.ts";
import type { Approvals } from "./approvals.ts";
import { ToolCaller } from "./call.ts";
import { Summaries } from "./ahead.ts";
import { addCosts, type Cost, NO_COST } from "./cost.ts";
import { foundSince, sizeOf, tokensOf, withDefinitions } from "./deferral.ts";
import { FILE_LIST_CHARS_MAX, TOOLS_CHARS_SMALL } from "./limits.ts";
import { type Input, resolveInput } from "./input.ts";
import type { InputFilesDeps } from "./input-files.ts";
import { type ModelCall, Pass, type PassResult } from "./pass.ts";
import type { EditedContext } from "./edited-context.ts";
import {
  type Editor,
  type EditorDeps,
  editor,
  isPaused,
  PAUSED,
  notesOf,
  paused,
  withAhead,
  withNotes,
} from "./notes.ts";
import { strictest } from "./permission.ts";
import { type Plan, type PlanDeps, planOf } from "./plan.ts";
import { Repeats } from "./repeats.ts";
import { assistantMessage, promptOf } from "./round-messages.ts";
import { shortenResults } from "./shorter-results.ts";
import type { ServerTool } from "./tool.ts";

export interface LoopDeps extends PlanDeps, Pick<InputFilesDeps, "fetchFile" | "readVideo" | "converters"> {
  /** The server's own setting; requests can only tighten it. */
  readonly permission: Permission;
  readonly approvalScope?: ApprovalScope;
  readonly approvals: Approvals;
  readonly files: ForCaller<Files>;
  readonly sessions: ForCaller<Pick<Sessions, "open" | "keyOf">>;
  readonly log: (line: string) => void;
  /** Of all conversations of the server. */
  readonly summaries?: Summaries;
  readonly modelNamed?: NonNullable<EditorDeps["modelNamed"]>;
  /** Called when an answer in a session starts (1) and ends (-1). */
  readonly onAnswer?: (change: 1 | -1) => void;
}

/** The same for one caller. */
interface CallersDeps extends Omit<LoopDeps, "files" | "sessions">, InputFilesDeps {
  readonly summaries: Summaries;
  readonly sessions: Pick<Sessions, "open" | "keyOf">;
}

/**
 * Converse with server tools. Throws at once for an invalid request; errors of files and sessions reject the first `next`.
 */
export function agentConverse(deps: LoopDeps): Converse<TargetedConversation> {
  const { summaries = new Summaries() } = deps;
  return (conversation, signal, caller) => {
    const own = { ...deps, summaries, caller, files: deps.files(caller), sessions: deps.sessions(caller) };
    const facts = conversation.target.facts();
    const plan = planFor(own, conversation, facts);
    return converse(own, conversation, { plan, isFitted: facts !== undefined }, signal);
  };
}

/** A plan, and whether the model's facts were known when it was made. */
interface Draft {
  readonly plan: Plan;
  readonly isFitted: boolean;
}

/** The model's facts change the tool descriptions, never whether a request is valid. */
function planFor(deps: CallersDeps, conversation: Conversation, facts: ModelFacts | undefined): Plan {
  return planOf(deps, conversation, {
    caller: deps.caller,
    hasInputs: hasInputs(deps, conversation),
    contextTokens: facts?.contextTokens,
    modalities: facts?.media.modalities ?? [],
  });
}

/** The plan for the loaded model; only requests with server tools or many of the client's wait for the load. */
async function fittedPlan(
  deps: CallersDeps,
  conversation: TargetedConversation,
  { plan, isFitted }: Draft,
  signal: AbortSignal,
): Promise<Plan> {
  const isSmall = plan.tools.size === 0 && sizeOf(plan.specs) <= TOOLS_CHARS_SMALL;
  if (isSmall || isFitted) return plan;
  return planFor(deps, conversation, await conversation.target.loadFacts(signal, deps.caller));
}

async function* converse(
  deps: CallersDeps,
  conversation: TargetedConversation,
  draft: Draft,
  signal: AbortSignal,
): AsyncGenerator<AnswerEvent> {
  const { run, agent, target } = conversation;
  const sent = run.prompt.messages;
  let plan: Plan;
  let session: OpenSession | undefined;
  let input: Input;
  try {
    plan = await fittedPlan(deps, conversation, draft, signal);
    session = plan.hasSession ? deps.sessions.open(agent.sessionId, sent) : undefined;
    const place = { plan, target, sessionId: session?.key, sent: session?.messages ?? sent };
    input = await resolveInput(deps, place, signal);
  } catch (refusal) {
    if (signal.aborted) return;
    throw refusal;
  }
  if (plan.deferral !== undefined) deps.meter?.deferred(tokensOf([...plan.deferral.hidden.values()]));
  const messages =
    plan.deferral === undefined ? input.messages : withDefinitions(input.messages, plan.deferral);
  const prompt = { ...run.prompt, messages, tools: plan.specs, toolChoice: plan.choice };
  const sentRequest = { ...run, prompt };
  let edit: Editor;
  let edited: EditedContext;
  try {
    edit = await editor(deps, conversation, sentRequest, signal);
    edited = await edit(messages);
  } catch (refusal) {
    if (signal.aborted) return;
    throw refusal;
  }
  const request = { ...sentRequest, prompt: { ...prompt, messages: edited.messages } };
  const notes = notesOf(input.cut, edited.edits);
  for (const one of edited.edits) deps.meter?.edited(one.type, one.tokens);
  if (input.cut.length > 0)
    deps.log(`${input.cut.length} attached files are read in part: ${run.model} gets their beginnings`);
  if (isPaused(agent.edits, edited.edits)) {
    const counted = target.generate({ ...request, countOnly: true }, signal, deps.caller);
    return yield* withNotes(paused(counted), notes, edited.cost);
  }
  const answered = (events: AsyncIterable<AnswerEvent>): AsyncIterable<AnswerEvent> =>
    withAhead(events, edited.ahead, signal);
  if (session === undefined)
    return yield* withNotes(answered(target.generate(request, signal, deps.caller)), notes, edited.cost);
  deps.onAnswer?.(1);
  try {
    const answer = new Loop(deps, { conversation, plan, session, input, request, edit }, signal).answer();
    yield* withNotes(answered(answer), notes, edited.cost);
  } finally {
    deps.onAnswer?.(-1);
  }
}

/** Whether the request or its session has input files. */
function hasInputs({ files, sessions }: CallersDeps, { run, agent }: Conversation): boolean {
  if (run.prompt.messages.some(({ content }) => content.some(isRead))) return true;
  if (agent.sessionId === undefined) return false;
  return files.list(sessions.keyOf(agent.sessionId)).some(({ purpose }) => purpose !== "agent_output");
}

/** Whether a part is a file of which the model may have to read more. */
function isRead(part: InputPart): boolean {
  return part.type === "file" && part.isWhole !== true;
}

/** Result of a pass whose prompt exceeds the context. */
const CONTEXT_EXCEEDED = "too long";

type ChatRequest = RunRequest<Extract<RunRequest["prompt"], { type: "chat" }>>;

interface Task {
  readonly conversation: TargetedConversation;
  readonly plan: Plan;
  readonly session: OpenSession;
  readonly input: Input;
  /** The first pass. */
  readonly request: ChatRequest;
  /** Edits the messages of a later pass, as the request wants it. */
  readonly edit: Editor;
}

/** One answer in a session. */
class Loop {
  private readonly task: Task;
  private readonly signal: AbortSignal;
  private readonly toolCaller: ToolCaller;
  private readonly caller: Caller;
  /** Messages of this answer: the model's and tool results. */
  private turn: Message[] = [];
  private cost: Cost = NO_COST;
  private readonly repeats = new Repeats();
  private readonly log: LoopDeps["log"];
  private readonly meter: LoopDeps["meter"];

  constructor(deps: CallersDeps, task: Task, signal: AbortSignal) {
    this.task = task;
    this.signal = signal;
    const { agent } = task.conversation;
    const { approvals, files, log, caller } = deps;
    this.caller = caller;
    this.log = log;
    this.meter = deps.meter;
    this.toolCaller = new ToolCaller({
      permit: {
        permission: strictest(deps.permission, agent.permission),
        scope: deps.approvalScope ?? "session",
        interactive: agent.interactive,
        approvals,
        session: task.session,
        caller,
      },
      files,
      inputs: task.input.files,
      mediaBudget: task.input.mediaBudget,
      converters: deps.converters,
      requested: agent.files,
      listing: {
        charsMax: listCharsMax(task.plan.contextTokens),
        ...defined({ readTool: task.input.readTool }),
      },
      turn: Math.max(0, task.session.messages.filter(({ role }) => role === "user").length - 1),
      log,
    });
  }

  async *answer(): AsyncGenerator<AnswerEvent> {
    let before: PassResult | undefined;
    for (let round = 1; ; round++) {
      const made = yield* this.pass(round);
      if (made === undefined) return;
      if (made === CONTEXT_EXCEEDED) {
        if (before !== undefined) yield* this.end(before, true);
        return;
      }
      before = made;
      const own = this.serverCalls(made, round);
      const clients = made.calls.filter(({ isClients }) => isClients);
      this.turn.push(assistantMessage(this.withAnswerPrefix(made, round), own.length > 0 ? own : clients));
      const toolOf = (name: string): ServerTool | undefined => this.toolOf(name);
      const results = yield* this.shown(this.toolCaller.callAll(own, toolOf, round, this.signal));
      if (results === undefined) return;
      this.turn.push(...this.repeats.noted(own, results));
      const isContinued = own.length > 0 && clients.length === 0;
      if (isContinued && this.tokensLeft() !== 0) continue;
      // Client calls go last: the client's tool results must follow them.
      if (own.length > 0 && clients.length > 0)
        this.turn.push(assistantMessage({ text: "", reasoning: "" }, clients));
      if (this.isLast(round) && made.text.trim() === "" && clients.length === 0) yield this.cutNote(round);
      yield* this.end(made, isContinued);
      return;
    }
  }

  /** Instead of an empty answer: why no more tools were called. */
  private cutNote(round: number): RunEvent {
    const what = this.repeats.isStuck
      ? "with the same call and the same result"
      : "the limit of this request";
    return { type: "text", choice: 0, text: `[No answer after ${round - 1} rounds of tool calls, ${what}.]` };
  }

  /** One pass; if tool results exceed the context, they are shortened and the pass is repeated. */
  private async *pass(
    round: number,
  ): AsyncGenerator<AnswerEvent, PassResult | typeof CONTEXT_EXCEEDED | undefined> {
    const { conversation, session, plan } = this.task;
    const isHidden = this.isLast(round);
    const isClients = (name: string): boolean => !isHidden && (!plan.acts || plan.clientNames.has(name));
    for (;;) {
      const context = await this.contextOf(round);
      this.cost = addCosts(this.cost, context.cost);
      if (context.edits.length > 0) yield { type: "context_edited", edits: context.edits };
      if (isPaused(conversation.agent.edits, context.edits)) {
        this.save();
        return yield* [PAUSED, { type: "finish", ...this.cost } as const];
      }
      const pass = new Pass({ isFirst: round === 1, isClients });
      let isContextExceeded = false;
      const events = this.generate(round, context.messages);
      for await (const event of withAhead(events, context.ahead, this.signal)) {
        isContextExceeded =
          round > 1 && event.type === "error" && event.error.code === "context_length_exceeded";
        if (isContextExceeded) break;
        const shown = pass.take(event);
        if (shown !== undefined) yield shown;
        if (shown?.type === "accepted" && !plan.isQuiet) yield { type: "session", sessionId: session.id };
        if (pass.isOver) break;
      }
      if (!isContextExceeded) {
        if (pass.result !== undefined) this.cost = addCosts(this.cost, pass.result.cost);
        return pass.result;
      }
      const shorter = shortenResults(this.turn);
      if (shorter === undefined) return CONTEXT_EXCEEDED;
      this.turn = shorter;
    }
  }

  /** The events of calls. Clients of other servers do not know them, and get none of a search that they did not ask for. */
  private async *shown<T>(calls: AsyncGenerator<AgentEvent, T>): AsyncGenerator<AgentEvent, T> {
    if (!this.task.plan.isQuiet) return yield* calls;
    for (;;) {
      const { done, value } = await calls.next();
      if (done === true) return value;
    }
  }

  /** The messages of a pass. Those of the first were edited before it. */
  private async contextOf(round: number): Promise<EditedContext> {
    const { request, edit, conversation } = this.task;
    const messages = [...request.prompt.messages, ...this.turn];
    if (round === 1 || conversation.agent.edits === undefined) return { messages, edits: [], cost: NO_COST };
    const edited = await edit(messages);
    for (const one of edited.edits) this.meter?.edited(one.type, one.tokens);
    return edited;
  }

  /** The run of a pass. */
  private generate(round: number, messages: readonly Message[]): AsyncIterable<RunEvent> {
    const { request, conversation } = this.task;
    const prompt = { ...promptOf(request.prompt, round), ...this.toolsOf(round) };
    const maxTokens = defined({ maxTokens: this.tokensLeft() });
    return conversation.target.generate(
      { ...request, prompt: { ...prompt, messages }, ...maxTokens },
      this.signal,
      this.caller,
    );
  }

  /** The pass with the request's answer prefix, which belongs to the first round. */
  private withAnswerPrefix(made: PassResult, round: number): PassResult {
    const { answerPrefix } = this.task.request.prompt;
    return round > 1 || answerPrefix === undefined ? made : { ...made, text: answerPrefix + made.text };
  }

  /** Past the round limit, and after many equal rounds, the model gets no tools, so it must answer. */
  private isLast(round: number): boolean {
    const { acts, roundsMax } = this.task.plan;
    return acts && (round > roundsMax || this.repeats.isStuck);
  }

  /** A required tool call applies to the first pass that does not search for tools; otherwise the model could never answer. */
  private toolsOf(round: number): { readonly tools?: readonly ToolSpec[]; readonly toolChoice?: ToolChoice } {
    if (this.isLast(round)) return { tools: [], toolChoice: { type: "none" } };
    const { deferral, specs } = this.task.plan;
    const found = deferral === undefined ? {} : { tools: foundSince(specs, deferral, this.turn) };
    return round === 1 || this.hasOnlySearched() ? found : { ...found, toolChoice: { type: "auto" } };
  }

  /** A search for tools does not do what a required call is for. */
  private hasOnlySearched(): boolean {
    const search = this.task.plan.deferral?.search?.spec.name;
    return (
      search !== undefined &&
      this.turn.every(({ toolCalls = [] }) => toolCalls.every(({ name }) => name === search))
    );
  }

  /** Calls of a pass that the server executes; none if the pass was cut. */
  private serverCalls({ calls, end }: PassResult, round: number): readonly ModelCall[] {
    if (end?.reason === "length" || end?.reason === "content_filter" || this.isLast(round)) return [];
    return calls.filter(({ isClients }) => !isClients);
  }

  private toolOf(name: string): ServerTool | undefined {
    const { tools, fallback } = this.task.plan;
    return tools.get(name) ?? fallback?.(name);
  }

  /** Remaining tokens of the cap, which applies to all passes together; undefined without a cap. */
  private tokensLeft(): number | undefined {
    const { maxTokens } = this.task.request;
    return maxTokens === undefined ? undefined : Math.max(0, maxTokens - this.cost.usage.completionTokens);
  }

  /** Ends the answer with the end of its last pass; `isCut` if tokens ran out before the model answered. */
  private *end({ end }: PassResult, isCut: boolean): Generator<RunEvent> {
    if (end !== undefined) {
      this.save();
      const hasNoCalls = end.reason === "tool_calls" && !this.hasClientCalls();
      yield isCut ? { ...end, reason: "length" } : hasNoCalls ? { ...end, reason: "stop" } : end;
    }
    yield { type: "finish", ...this.cost };
  }

  /** An answer that cannot be stored, such as on a full disk, is an answer all the same. */
  private save(): void {
    const { session, input } = this.task;
    try {
      session.save(input.sessionMessages, this.turn);
    } catch (error) {
      if (!(error instanceof ServiceError)) throw error;
      this.log(`the session of an answer was not stored: ${error.message}`);
    }
  }

  /** Whether the answer ends with calls for the client. */
  private hasClientCalls(): boolean {
    const last = this.turn.at(-1);
    return last?.role === "assistant" && (last.toolCalls?.length ?? 0) > 0;
  }
}

/** About an eighth of the model's context. */
function listCharsMax(contextTokens = Infinity): number {
  return Math.min(FILE_LIST_CHARS_MAX, contextTokens / 2);
}
