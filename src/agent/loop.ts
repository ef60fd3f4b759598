// The agent loop: passes of the model with rounds of server tools between them. Knows no kind of tool.
// The client sees one answer: joined texts without a separator (an answer by a schema must stay JSON), one usage, one end. `max_tokens` and
// `max_tool_rounds` count over all passes, a required call applies to the first. After the last round one pass without tools answers.

import type {
  AgentEvent,
  AnswerEvent,
  ApprovalScope,
  Permission,
  TargetedConversation,
} from "../core/agent.ts";
import type { Caller } from "../core/caller.ts";
import { defined } from "../core/defined.ts";
import { ServiceError } from "../core/error.ts";
import type { Message, ToolSpec } from "../core/message.ts";
import type { RunEvent, RunRequest, ToolChoice } from "../core/run.ts";
import type { OpenSession } from "../core/sessions.ts";
import type { Approvals } from "./approvals.ts";
import { ToolCaller } from "./call.ts";
import { addCosts, type Cost, NO_COST } from "./cost.ts";
import { foundSince } from "./deferral.ts";
import type { EditedContext } from "./edited-context.ts";
import { FILE_LIST_CHARS_MAX } from "./limits.ts";
import type { Input } from "./input.ts";
import type { InputFilesDeps } from "./input-files.ts";
import { type Editor, isPaused, PAUSED, withAhead } from "./notes.ts";
import { type ModelCall, Pass, type PassResult } from "./pass.ts";
import { strictest } from "./permission.ts";
import type { Plan, PlanDeps } from "./plan.ts";
import { Repeats } from "./repeats.ts";
import { assistantMessage, promptOf } from "./round-messages.ts";
import { shortenResults } from "./shorter-results.ts";
import type { ServerTool } from "./tool.ts";

export interface LoopDeps
  extends Pick<PlanDeps, "meter">, Pick<InputFilesDeps, "files" | "converters" | "caller"> {
  /** The server's own setting; requests can only tighten it. */
  readonly permission: Permission;
  readonly approvalScope?: ApprovalScope;
  readonly approvals: Approvals;
  readonly log: (line: string) => void;
}

/** Results of a pass whose prompt exceeds the context, or what its key has left. */
const CONTEXT_EXCEEDED = "too long";
const NO_TOKENS_LEFT = "no tokens left";
type Refused = typeof CONTEXT_EXCEEDED | typeof NO_TOKENS_LEFT;

type ChatRequest = RunRequest<Extract<RunRequest["prompt"], { type: "chat" }>>;

/** An answer to make in a session. */
export interface Task {
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
export class Loop {
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

  constructor(deps: LoopDeps, task: Task, signal: AbortSignal) {
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

  /** The events of the answer, with exactly one end; none once its client has left. */
  async *answer(): AsyncGenerator<AnswerEvent> {
    let before: PassResult | undefined;
    for (let round = 1; ; round++) {
      const made = yield* this.pass(round);
      if (made === undefined) return;
      if (made === CONTEXT_EXCEEDED || made === NO_TOKENS_LEFT) {
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
  private async *pass(round: number): AsyncGenerator<AnswerEvent, PassResult | Refused | undefined> {
    for (;;) {
      const context = await this.contextOf(round);
      this.cost = addCosts(this.cost, context.cost);
      if (context.edits.length > 0) yield { type: "context_edited", edits: context.edits };
      if (isPaused(this.task.conversation.agent.edits, context.edits)) {
        this.save();
        return yield* [PAUSED, { type: "finish", ...this.cost } as const];
      }
      const made = yield* this.passOver(context, round);
      if (made !== CONTEXT_EXCEEDED) {
        if (made !== undefined && made !== NO_TOKENS_LEFT) this.cost = addCosts(this.cost, made.cost);
        return made;
      }
      const shorter = shortenResults(this.turn);
      if (shorter === undefined) return CONTEXT_EXCEEDED;
      this.turn = shorter;
    }
  }

  /** One pass over these messages. Only results of tools can be shortened, so the first pass reports what exceeds the context. */
  private async *passOver(
    { messages, ahead }: EditedContext,
    round: number,
  ): AsyncGenerator<AnswerEvent, PassResult | Refused | undefined> {
    const { session, plan } = this.task;
    const hasTools = !this.isLast(round);
    const isClients = (name: string): boolean => hasTools && (!plan.acts || plan.clientNames.has(name));
    const pass = new Pass({ isFirst: round === 1, isClients });
    for await (const event of withAhead(this.generate(round, messages), ahead, this.signal)) {
      const refusal = round > 1 && event.type === "error" ? event.error.code : undefined;
      if (refusal === "context_length_exceeded") return CONTEXT_EXCEEDED;
      if (refusal === "rate_limit_exceeded") return NO_TOKENS_LEFT;
      const shown = pass.take(event);
      if (shown !== undefined) yield shown;
      if (shown?.type === "accepted" && !plan.isQuiet) yield { type: "session", sessionId: session.id };
      if (pass.isOver) break;
    }
    return pass.result;
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
