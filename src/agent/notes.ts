// What is done to a request before its first pass, and the events that report it.

import type { AgentEvent, AnswerEvent, ContextEdits, CutFile, TargetedConversation } from "../core/agent.ts";
import type { AppliedEdit } from "../core/applied-edit.ts";
import { ServiceError } from "../core/error.ts";
import type { Message } from "../core/message.ts";
import type { RunEvent } from "../core/run.ts";
import type { ModelTarget } from "../core/target.ts";
import type { CompactTask } from "./compaction.ts";
import { addCosts, type Cost, NO_COST } from "./cost.ts";
import { type EditedContext, editedContext, type EditTask } from "./edited-context.ts";

/** Edits the messages of a pass, as the request wants it. */
export type Editor = (messages: readonly Message[]) => Promise<EditedContext>;

export interface EditorDeps extends Pick<CompactTask, "caller">, Pick<EditTask, "summaries"> {
  /** The model of a name. Throws ServiceError for one that is not served. */
  readonly modelNamed?: (name: string) => ModelTarget;
}

/** What edits the messages of a pass. Only a request with edits waits for the model. */
export async function editor(
  { caller, summaries, modelNamed }: EditorDeps,
  { agent, run, target }: TargetedConversation,
  request: CompactTask["request"],
  signal: AbortSignal,
): Promise<Editor> {
  const writer = writerOf(agent.edits?.compact?.model, modelNamed);
  const facts = agent.edits === undefined ? undefined : await target.loadFacts(signal, caller);
  const edits = run.countOnly === true ? withoutCompaction(agent.edits) : agent.edits;
  const task = { request, target, caller, contextTokens: facts?.contextTokens, edits, summaries, ...writer };
  return (messages) => editedContext(task, messages, signal);
}

/** The model that a request names for its summaries. Throws ServiceError for one that is not served. */
function writerOf(
  name: string | undefined,
  modelNamed: EditorDeps["modelNamed"],
): Pick<CompactTask, "writer"> {
  if (name === undefined || modelNamed === undefined) return {};
  try {
    return { writer: modelNamed(name) };
  } catch (error) {
    if (!(error instanceof ServiceError)) throw error;
    throw new ServiceError(error.code, `summary_model: ${error.message}`, { param: "summary_model" });
  }
}

/** Counting writes no summary. */
function withoutCompaction(edits: ContextEdits | undefined): ContextEdits | undefined {
  if (edits?.compact === undefined) return edits;
  const { compact: _, ...others } = edits;
  return others;
}

/** Events that report what was done to the prompt. */
export function notesOf(cut: readonly CutFile[], edits: readonly AppliedEdit[]): readonly AgentEvent[] {
  return [
    ...(cut.length === 0 ? [] : [{ type: "input_cut" as const, files: cut }]),
    ...(edits.length === 0 ? [] : [{ type: "context_edited" as const, edits }]),
  ];
}

/**
 * The events, with notes after the request is accepted: what comes before decides the status of the answer. `cost`: of work before, which
 * counts as the answer's.
 */
export async function* withNotes(
  events: AsyncIterable<AnswerEvent>,
  notes: readonly AgentEvent[],
  cost: Cost,
): AsyncGenerator<AnswerEvent> {
  let isSent = notes.length === 0;
  for await (const event of events) {
    yield event.type === "finish" ? { ...event, ...addCosts(cost, event) } : event;
    if (isSent || event.type !== "accepted") continue;
    isSent = true;
    yield* notes;
  }
}

/** The events of an answer, beside which a summary for the next turn is begun at its first word. It ends with an answer that is broken off. */
export async function* withAhead<E extends AnswerEvent>(
  events: AsyncIterable<E>,
  begin: EditedContext["ahead"],
  signal: AbortSignal,
): AsyncGenerator<E> {
  if (begin === undefined) return yield* events;
  let begun: ReturnType<typeof begin>;
  let isBegun = false;
  try {
    for await (const event of events) {
      if (!isBegun && WORDS.has(event.type)) {
        isBegun = true;
        begun = begin();
      }
      yield event;
    }
  } finally {
    if (signal.aborted) begun?.cancel();
  }
}

const WORDS: ReadonlySet<AnswerEvent["type"]> = new Set(["text", "reasoning", "tool_call_start"]);

/** Whether a request wants no answer after its edits. */
export function isPaused(edits: ContextEdits | undefined, applied: readonly AppliedEdit[]): boolean {
  return edits?.compact?.pauses !== undefined && applied.some(({ type }) => type === "compaction");
}

/** Ends an answer after its edits. */
export const PAUSED: Extract<RunEvent, { type: "choice_end" }> = {
  type: "choice_end",
  choice: 0,
  reason: "stop",
  isPaused: true,
};

/** The events of a request that is not answered, from those that count its prompt. */
export async function* paused(counted: AsyncIterable<RunEvent>): AsyncGenerator<RunEvent> {
  for await (const event of counted) {
    if (event.type === "finish") {
      yield PAUSED;
      yield { type: "finish", ...NO_COST };
    } else if (event.type !== "choice_end") yield event;
  }
}
