// Answers a conversation: makes its plan, opens its session, resolves its input and edits its messages; what the server's tools are for goes
// to the loop, everything else is a single run, passed through. Sits between dialects and the engine; knows no kind of tool.

import type { AnswerEvent, Conversation, Converse, InputPart, TargetedConversation } from "../core/agent.ts";
import type { ForCaller } from "../core/caller.ts";
import type { Files } from "../core/files.ts";
import type { OpenSession, Sessions } from "../core/sessions.ts";
import type { ModelFacts } from "../core/target.ts";
import { Summaries } from "./ahead.ts";
import { sizeOf, tokensOf, withDefinitions } from "./deferral.ts";
import type { EditedContext } from "./edited-context.ts";
import { resolveInput } from "./input.ts";
import type { InputFilesDeps } from "./input-files.ts";
import { TOOLS_CHARS_SMALL } from "./limits.ts";
import { Loop, type LoopDeps, type Task } from "./loop.ts";
import { type EditorDeps, editor, isPaused, notesOf, paused, withAhead, withNotes } from "./notes.ts";
import { type Plan, type PlanDeps, planOf } from "./plan.ts";

export interface ConverseDeps
  extends Omit<LoopDeps, "files" | "caller">, PlanDeps, Pick<InputFilesDeps, "fetchFile" | "readVideo"> {
  readonly files: ForCaller<Files>;
  readonly sessions: ForCaller<Pick<Sessions, "open" | "keyOf">>;
  /** Of all conversations of the server. */
  readonly summaries?: Summaries;
  readonly modelNamed?: NonNullable<EditorDeps["modelNamed"]>;
  /** Called when an answer in a session starts (1) and ends (-1). */
  readonly onAnswer?: (change: 1 | -1) => void;
}

/** The same for one caller. */
interface CallersDeps extends Omit<ConverseDeps, "files" | "sessions">, InputFilesDeps {
  readonly summaries: Summaries;
  readonly sessions: Pick<Sessions, "open" | "keyOf">;
}

/**
 * Converse with server tools. Throws at once for an invalid request; errors of files and sessions reject the first `next`.
 */
export function agentConverse(deps: ConverseDeps): Converse<TargetedConversation> {
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
  let prepared: Prepared;
  try {
    prepared = await prepare(deps, conversation, draft, signal);
  } catch (refusal) {
    if (signal.aborted) return;
    throw refusal;
  }
  const { run, agent, target } = conversation;
  const { session, request, edited, ...task } = prepared;
  const { cut } = task.input;
  for (const one of edited.edits) deps.meter?.edited(one.type, one.tokens);
  if (cut.length > 0)
    deps.log(`${cut.length} attached files are read in part: ${run.model} gets their beginnings`);
  const noted = (events: AsyncIterable<AnswerEvent>): AsyncIterable<AnswerEvent> =>
    withNotes(events, notesOf(cut, edited.edits), edited.cost);
  if (isPaused(agent.edits, edited.edits)) {
    const counted = target.generate({ ...request, countOnly: true }, signal, deps.caller);
    return yield* noted(paused(counted));
  }
  const answered = (events: AsyncIterable<AnswerEvent>): AsyncIterable<AnswerEvent> =>
    noted(withAhead(events, edited.ahead, signal));
  if (session === undefined) return yield* answered(target.generate(request, signal, deps.caller));
  deps.onAnswer?.(1);
  try {
    yield* answered(new Loop(deps, { ...task, conversation, session, request }, signal).answer());
  } finally {
    deps.onAnswer?.(-1);
  }
}

/** A conversation that is ready for its first pass. */
interface Prepared extends Pick<Task, "plan" | "input" | "request" | "edit"> {
  /** Undefined: its answer is a single run. */
  readonly session: OpenSession | undefined;
  /** Messages of the first pass, and what was done to them. */
  readonly edited: EditedContext;
}

async function prepare(
  deps: CallersDeps,
  conversation: TargetedConversation,
  draft: Draft,
  signal: AbortSignal,
): Promise<Prepared> {
  const { run, agent, target } = conversation;
  const sent = run.prompt.messages;
  const plan = await fittedPlan(deps, conversation, draft, signal);
  const session = plan.hasSession ? deps.sessions.open(agent.sessionId, sent) : undefined;
  const place = { plan, target, sessionId: session?.key, sent: session?.messages ?? sent };
  const input = await resolveInput(deps, place, signal);
  const { deferral } = plan;
  if (deferral !== undefined) deps.meter?.deferred(tokensOf([...deferral.hidden.values()]));
  const messages = deferral === undefined ? input.messages : withDefinitions(input.messages, deferral);
  const prompt = { ...run.prompt, messages, tools: plan.specs, toolChoice: plan.choice };
  const edit = await editor(deps, conversation, { ...run, prompt }, signal);
  const edited = await edit(messages);
  const request = { ...run, prompt: { ...prompt, messages: edited.messages } };
  return { plan, session, input, request, edit, edited };
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
