// Answers conversations: passes of the model with rounds of the server's tools between them. Sits between dialects and
// the engine and speaks the words of both; a conversation in which the server does nothing is one run, passed through.

import type {
  AnswerEvent,
  ApprovalScope,
  Conversation,
  Converse,
  Permission,
  TargetedConversation,
} from "../core/agent.ts";
import { defined } from "../core/defined.ts";
import type { Message, ToolSpec } from "../core/message.ts";
import { hasFile } from "../core/input-file.ts";
import type { RunEvent, RunRequest, ToolChoice } from "../core/run.ts";
import type { OpenSession, Sessions } from "../core/sessions.ts";
import type { ModelFacts } from "../core/target.ts";
import type { Approvals } from "./approvals.ts";
import { Caller } from "./call.ts";
import { addCosts, type Cost, NO_COST } from "./cost.ts";
import { type Input, takeInput } from "./input.ts";
import type { InputFilesDeps } from "./input-files.ts";
import { type MadeCall, Pass, type PassResult } from "./pass.ts";
import { strictest } from "./permission.ts";
import { type Plan, type PlanDeps, planOf } from "./plan.ts";
import { withShorterResults } from "./shorter-results.ts";
import type { ServerTool } from "./tool.ts";

export interface LoopDeps extends PlanDeps, InputFilesDeps {
  /** The server's own setting; requests can only tighten it. */
  readonly permission: Permission;
  readonly approvalScope?: ApprovalScope;
  readonly approvals: Approvals;
  readonly sessions: Pick<Sessions, "open" | "keyOf">;
  readonly log: (line: string) => void;
  /** Told when an answer in a session begins and when it ends. */
  readonly onAnswer?: (change: 1 | -1) => void;
}

/**
 * The Converse of a server with tools. Throws for a request that cannot be met, before anything is read; files and
 * sessions that cannot be had reject the first `next`.
 */
export function agentConverse(deps: LoopDeps): Converse<TargetedConversation> {
  return (conversation, signal) => {
    const facts = conversation.target.facts();
    const plan = planFor(deps, conversation, facts);
    return converse(deps, conversation, { plan, isFitted: facts !== undefined }, signal);
  };
}

/** A plan, and whether the model's facts were known when it was made. */
interface Draft {
  readonly plan: Plan;
  readonly isFitted: boolean;
}

/** Whether a request can be met does not depend on facts; what the model is told of tools does. */
function planFor(deps: LoopDeps, conversation: Conversation, facts: ModelFacts | undefined): Plan {
  return planOf(deps, conversation, {
    hasInputs: hasInputs(deps, conversation),
    contextTokens: facts?.contextTokens,
    modalities: facts?.media.modalities ?? [],
  });
}

/** The plan for the loaded model: a request with the server's tools waits for it. */
async function fittedPlan(
  deps: LoopDeps,
  conversation: TargetedConversation,
  { plan, isFitted }: Draft,
  signal: AbortSignal,
): Promise<Plan> {
  if (plan.tools.size === 0 || isFitted) return plan;
  return planFor(deps, conversation, await conversation.target.loadFacts(signal));
}

async function* converse(
  deps: LoopDeps,
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
    input = await takeInput(deps, place, signal);
  } catch (refusal) {
    if (signal.aborted) return;
    throw refusal;
  }
  const prompt = { ...run.prompt, messages: input.messages, tools: plan.specs, toolChoice: plan.choice };
  const request = { ...run, prompt };
  if (session === undefined) return yield* target.generate(request, signal);
  deps.onAnswer?.(1);
  try {
    yield* new Loop(deps, { conversation, plan, session, input, request }, signal).answer();
  } finally {
    deps.onAnswer?.(-1);
  }
}

/** Whether the model is told of files: they come with the request, or the session has them from an earlier one. */
function hasInputs({ files, sessions }: LoopDeps, { run, agent }: Conversation): boolean {
  if (run.prompt.messages.some(hasFile)) return true;
  if (agent.sessionId === undefined) return false;
  return files.list(sessions.keyOf(agent.sessionId)).some(({ purpose }) => purpose !== "agent_output");
}

/** A pass whose prompt is longer than the context. */
const TOO_LONG = "too long";

type ChatRequest = RunRequest<Extract<RunRequest["prompt"], { type: "chat" }>>;

interface Task {
  readonly conversation: TargetedConversation;
  readonly plan: Plan;
  readonly session: OpenSession;
  readonly input: Input;
  /** The first pass. */
  readonly request: ChatRequest;
}

/** One answer in a session. */
class Loop {
  private readonly task: Task;
  private readonly signal: AbortSignal;
  private readonly caller: Caller;
  /** What was said and done since the request came in. */
  private turn: Message[] = [];
  private cost: Cost = NO_COST;

  constructor(deps: LoopDeps, task: Task, signal: AbortSignal) {
    this.task = task;
    this.signal = signal;
    const { agent } = task.conversation;
    const { approvals, files, log } = deps;
    this.caller = new Caller({
      permit: {
        permission: strictest(deps.permission, agent.permission),
        scope: deps.approvalScope ?? "session",
        interactive: agent.interactive,
        approvals,
        session: task.session,
      },
      files,
      inputs: task.input.files,
      room: task.input.room,
      requested: agent.files,
      turn: Math.max(0, task.session.messages.filter(({ role }) => role === "user").length - 1),
      log,
    });
  }

  async *answer(): AsyncGenerator<AnswerEvent> {
    let before: PassResult | undefined;
    for (let round = 1; ; round++) {
      const made = yield* this.pass(round);
      if (made === undefined) return;
      if (made === TOO_LONG) {
        if (before !== undefined) yield* this.end(before, true);
        return;
      }
      before = made;
      const own = this.ownCalls(made, round);
      const clients = made.calls.filter(({ isClients }) => isClients);
      this.turn.push(spoken(this.whole(made, round), own.length > 0 ? own : clients));
      for (const call of own) {
        const told = yield* this.caller.call(call, this.toolOf(call.name), round, this.signal);
        if (told === undefined) return;
        this.turn.push(told);
      }
      const goesOn = own.length > 0 && clients.length === 0;
      if (goesOn && this.tokensLeft() !== 0) continue;
      // What the client must call stands last, where its answers will follow.
      if (own.length > 0 && clients.length > 0) this.turn.push(spoken({ text: "", reasoning: "" }, clients));
      yield* this.end(made, goesOn);
      return;
    }
  }

  /** One pass. Tool results that exceed the context are shortened, and the pass is repeated. */
  private async *pass(round: number): AsyncGenerator<AnswerEvent, PassResult | typeof TOO_LONG | undefined> {
    const { session, plan } = this.task;
    const isHidden = this.isLast(round);
    const isClients = (name: string): boolean => !isHidden && (!plan.acts || plan.clientNames.has(name));
    for (;;) {
      const pass = new Pass({ isFirst: round === 1, isClients });
      let isTooLong = false;
      for await (const event of this.generate(round)) {
        isTooLong = round > 1 && event.type === "error" && event.error.code === "context_length_exceeded";
        if (isTooLong) break;
        const shown = pass.take(event);
        if (shown !== undefined) yield shown;
        if (shown?.type === "accepted") yield { type: "session", sessionId: session.id };
        if (pass.isOver) break;
      }
      if (!isTooLong) {
        if (pass.result !== undefined) this.cost = addCosts(this.cost, pass.result.cost);
        return pass.result;
      }
      const shorter = withShorterResults(this.turn);
      if (shorter === undefined) return TOO_LONG;
      this.turn = shorter;
    }
  }

  /** The run of a pass. */
  private generate(round: number): AsyncIterable<RunEvent> {
    const { request, conversation } = this.task;
    const prompt = { ...promptOf(request.prompt, round), ...this.toolsOf(round) };
    const messages = [...prompt.messages, ...this.turn];
    const maxTokens = defined({ maxTokens: this.tokensLeft() });
    return conversation.target.generate(
      { ...request, prompt: { ...prompt, messages }, ...maxTokens },
      this.signal,
    );
  }

  /** What was said in a round, the beginning included that the request gave the answer. */
  private whole(made: PassResult, round: number): PassResult {
    const { answerPrefix } = this.task.request.prompt;
    return round > 1 || answerPrefix === undefined ? made : { ...made, text: answerPrefix + made.text };
  }

  /** The rounds are used up: the model sees no tools and must answer with what it has. */
  private isLast(round: number): boolean {
    const { acts, roundsMax } = this.task.plan;
    return acts && round > roundsMax;
  }

  /** What a choice of tools demands holds for the first pass alone; otherwise the model could never answer. */
  private toolsOf(round: number): { readonly tools?: readonly ToolSpec[]; readonly toolChoice?: ToolChoice } {
    if (this.isLast(round)) return { tools: [], toolChoice: { type: "none" } };
    return round === 1 ? {} : { toolChoice: { type: "auto" } };
  }

  /** The calls of a pass that the server makes. One that the token cap has cut is not a call. */
  private ownCalls({ calls, end }: PassResult, round: number): readonly MadeCall[] {
    if (end?.reason === "length" || this.isLast(round)) return [];
    return calls.filter(({ isClients }) => !isClients);
  }

  private toolOf(name: string): ServerTool | undefined {
    const { tools, fallback } = this.task.plan;
    return tools.get(name) ?? fallback?.(name);
  }

  /** Tokens that the answer may still have; undefined where there is no cap. The cap is on all passes together. */
  private tokensLeft(): number | undefined {
    const { maxTokens } = this.task.request;
    return maxTokens === undefined ? undefined : Math.max(0, maxTokens - this.cost.usage.completionTokens);
  }

  /** Ends the answer with the end of its last pass; `isCut` where tokens ran out before the model could answer. */
  private *end({ end }: PassResult, isCut: boolean): Generator<RunEvent> {
    if (end !== undefined) {
      this.task.session.save(this.task.input.talk, this.turn);
      const hasNoCalls = end.reason === "tool_calls" && !this.handsBack();
      yield isCut ? { ...end, reason: "length" } : hasNoCalls ? { ...end, reason: "stop" } : end;
    }
    yield { type: "finish", ...this.cost };
  }

  /** Whether the client has calls to make. */
  private handsBack(): boolean {
    const last = this.turn.at(-1);
    return last?.role === "assistant" && (last.toolCalls?.length ?? 0) > 0;
  }
}

/** The answer has begun in the first round alone. */
function promptOf(prompt: ChatRequest["prompt"], round: number): ChatRequest["prompt"] {
  if (round === 1 || prompt.answerPrefix === undefined) return prompt;
  const { type, messages, tools, toolChoice, singleCall, thinking } = prompt;
  const single = defined({ singleCall });
  return { type, messages, tools, toolChoice, ...single, thinking };
}

/** What the model said in a pass, with calls. */
function spoken(
  { text, reasoning }: Pick<PassResult, "text" | "reasoning">,
  calls: readonly MadeCall[],
): Message {
  return {
    role: "assistant",
    content: text === "" ? [] : [{ type: "text", text }],
    ...(reasoning === "" ? {} : { reasoning }),
    ...(calls.length === 0
      ? {}
      : { toolCalls: calls.map(({ id, name, arguments: args }) => ({ id, name, arguments: args })) }),
  };
}
