// Executes the tool calls of one answer: checks arguments and permission, runs the tool, stores its files, and makes the
// client's events and the tool message for the model.

import { randomBytes } from "node:crypto";
import type { AgentEvent, FileObject, RequestedFile, ToolCallAt, ToolProgress } from "../core/agent.ts";
import type { Converters } from "../core/converters.ts";
import { ServiceError } from "../core/error.ts";
import type { Files } from "../core/files.ts";
import { jsonIn } from "../core/json.ts";
import type { Message, TextPart } from "../core/message.ts";
import type { InputFile, ProducedFile } from "../exec/types.ts";
import { earlierFiles, keepFile } from "./keep-file.ts";
import type { ModelCall } from "./pass.ts";
import { permit, type Permit } from "./permission.ts";
import { PARALLEL_CALLS_MAX } from "./limits.ts";
import { refusedProgress, resultContent, wellFormed } from "./progress.ts";
import { Reports } from "./reports.ts";
import type { MediaBudget } from "./input-media.ts";
import { convertedMedia } from "./input-image.ts";
import { type FileListing, modelText, perceivedMedia } from "./model-text.ts";
import { type ServerTool, ToolFailure, type ToolOutcome } from "./tool.ts";

export interface CallDeps {
  readonly permit: Permit;
  /** Store for files that tools produce. */
  readonly files: Files;
  /** Files that came with the conversation. */
  readonly inputs: readonly InputFile[];
  /** Files that the answer must produce. */
  readonly requested: readonly RequestedFile[];
  /** Limits for images and audio that calls produce; absent if the model accepts no media. */
  readonly mediaBudget: MediaBudget | undefined;
  readonly converters: Converters;
  readonly listing: FileListing;
  /** Index of the user's turn, from 0. */
  readonly turn: number;
  readonly log: (line: string) => void;
}

/** Outcome of a call, executed or refused, with its stored files. */
interface Result extends ToolOutcome {
  readonly stored: readonly FileObject[];
}

/** Executes the calls of one answer. */
export class ToolCaller {
  private readonly deps: CallDeps;
  /** Identifies the answer in the ids of its files. */
  private readonly runId = randomBytes(6).toString("hex");
  private readonly produced = new Set<string>();
  /** Names of the tools that the conversation has called. */
  private readonly ran: Set<string>;
  private readonly reports = new Reports();
  private round = 0;
  private filesOfRound = 0;

  constructor(deps: CallDeps) {
    this.deps = deps;
    const { messages } = deps.permit.session;
    this.ran = new Set(messages.flatMap(({ role, name }) => (role === "tool" ? (name ?? []) : [])));
  }

  /**
   * Executes the calls of a round, which counts from 1: independent neighbours at the same time, all others one after another.
   * Returns their tool messages in the order of the calls; undefined if the answer was cancelled.
   */
  async *callAll(
    made: readonly ModelCall[],
    toolOf: (name: string) => ServerTool | undefined,
    round: number,
    signal: AbortSignal,
  ): AsyncGenerator<AgentEvent, readonly Message[] | undefined> {
    if (round !== this.round) this.filesOfRound = 0;
    this.round = round;
    const messages: Message[] = [];
    const calls = made.map((call) => ({ call, tool: toolOf(call.name) }));
    for (const group of groupsOf(calls)) {
      const begun: Begun[] = [];
      for (const { call, tool } of group) {
        const one = yield* this.begin(call, tool, signal);
        if (one === undefined) return undefined;
        begun.push(one);
      }
      for (const one of begun) {
        const outcome = yield* this.reports.during(one.outcome);
        if (signal.aborted) return undefined;
        messages.push(yield* this.finish(one, outcome, signal));
      }
    }
    return messages;
  }

  /** Shows a call and begins it, unless it is refused. Undefined if the answer was cancelled. */
  private async *begin(
    made: ModelCall,
    tool: ServerTool | undefined,
    signal: AbortSignal,
  ): AsyncGenerator<AgentEvent, Begun | undefined> {
    const { round } = this;
    const args = jsonIn(made.arguments, made.arguments);
    const calling = wellFormed<ToolProgress>(
      tool?.calling(args) ?? { tool_type: "custom", arguments: made.arguments },
    );
    const at = { round, callId: made.id, toolName: made.name, arguments: made.arguments };
    yield { type: "tool_calling", ...at, data: calling };
    const refusal = yield* this.refusal(made, tool, args, signal);
    if (signal.aborted) return undefined;
    const outcome =
      refusal !== undefined || tool === undefined
        ? Promise.resolve(refused(calling, made.name, refusal ?? unknownTool(made.name)))
        : this.run(tool, { args, calling, at }, signal);
    return { made, at, outcome };
  }

  /** Stores the files of a call, shows its result, and returns its message for the model. */
  private async *finish(
    { made, at }: Begun,
    outcome: ToolOutcome,
    signal: AbortSignal,
  ): AsyncGenerator<AgentEvent, Message> {
    const result: Result = { ...outcome, stored: yield* this.keep(outcome.files ?? [], made.name) };
    const data = wellFormed(result.data);
    yield {
      type: "tool_complete",
      ...at,
      data,
      resultContent: resultContent(data),
      images: result.images ?? [],
      fileIds: result.stored.map(({ id }) => id),
    };
    const { mediaBudget, converters } = this.deps;
    const media =
      mediaBudget === undefined
        ? (result.media ?? [])
        : await convertedMedia(converters, result.media ?? [], signal);
    const { perceived, notes } = perceivedMedia(media, mediaBudget);
    const text: TextPart = {
      type: "text",
      text: modelText(result.text, [...notes, ...(result.notes ?? [])], result.stored, this.deps.listing),
    };
    return { role: "tool", toolCallId: made.id, name: made.name, content: [...perceived, text] };
  }

  /** Yields the approval event, if one is needed. Returns why the call is refused. */
  private async *refusal(
    made: ModelCall,
    tool: ServerTool | undefined,
    args: unknown,
    signal: AbortSignal,
  ): AsyncGenerator<AgentEvent, Refused | undefined> {
    if (tool === undefined) return unknownTool(made.name);
    const fault = tool.fault(args);
    if (fault !== undefined) return { status: "failed", message: fault };
    const wanted = { action: tool.action, toolName: made.name, round: this.round, arguments: args };
    const denial = yield* permit(wanted, this.deps.permit, signal);
    return denial === undefined ? undefined : { status: "denied", message: denial };
  }

  private async run(
    tool: ServerTool,
    { args, calling, at }: Asked,
    signal: AbortSignal,
  ): Promise<ToolOutcome> {
    const { permit, inputs, requested } = this.deps;
    const { spec, folderOf = [spec.name] } = tool;
    const { name } = spec;
    const context = {
      sessionId: permit.session.key,
      client: permit.caller.client,
      isBrief: !permit.session.isNamed,
      ranBefore: this.ran.has(name),
      earlier: () => earlierFiles(this.deps.files, permit.session.key, folderOf),
      inputs,
      required: requested.filter((file) => !this.produced.has(file.name)),
      report: (message: string) => this.reports.add(at, message.toWellFormed()),
    };
    this.ran.add(name);
    try {
      return await tool.run(args, context, signal);
    } catch (thrown) {
      const message = this.reason(thrown, tool.spec.name);
      return refused(calling, tool.spec.name, { status: "failed", message });
    }
  }

  /** Message for the model. Details of unexpected errors are logged, not sent. */
  private reason(thrown: unknown, name: string): string {
    if (thrown instanceof ToolFailure || thrown instanceof ServiceError) return thrown.message;
    const detail = thrown instanceof Error ? (thrown.stack ?? thrown.message) : String(thrown);
    this.deps.log(`internal error in tool ${name}: ${detail}`);
    return "the tool failed with an internal server error";
  }

  private async *keep(
    files: readonly ProducedFile[],
    tool: string,
  ): AsyncGenerator<AgentEvent, readonly FileObject[]> {
    const stored: FileObject[] = [];
    for (const file of files) {
      const id = `file_${this.runId}_r${this.round}_${this.filesOfRound++}`;
      const { turn, permit } = this.deps;
      const place = { id, tool, round: this.round, turn, sessionId: permit.session.key };
      const object = await keepFile(this.deps.files, file, place);
      if (object.code === undefined) this.produced.add(file.name);
      stored.push(object);
      yield { type: "file_produced", file: object };
    }
    return stored;
  }
}

/** A call that runs. */
interface Begun {
  readonly made: ModelCall;
  readonly at: ToolCallAt;
  /** Never rejects. */
  readonly outcome: Promise<ToolOutcome>;
}

interface Asked {
  readonly args: unknown;
  readonly calling: ToolProgress;
  readonly at: ToolCallAt;
}

interface Planned {
  readonly call: ModelCall;
  readonly tool: ServerTool | undefined;
}

/** Neighbours that may run at the same time, in groups of limited size; the others alone. */
function groupsOf(calls: readonly Planned[]): readonly (readonly Planned[])[] {
  const groups: Planned[][] = [];
  for (const planned of calls) {
    const last = groups.at(-1);
    const isFree = last !== undefined && last.length < PARALLEL_CALLS_MAX;
    if (isFree && [...last, planned].every(({ tool }) => tool?.isIndependent === true)) last.push(planned);
    else groups.push([planned]);
  }
  return groups;
}

interface Refused {
  readonly status: "denied" | "failed" | "not_found";
  readonly message: string;
}

function unknownTool(name: string): Refused {
  return { status: "not_found", message: `no tool is named ${JSON.stringify(name)}` };
}

/** Outcome of a call that was refused or failed. */
function refused(calling: ToolProgress, name: string, { status, message }: Refused): ToolOutcome {
  const text = JSON.stringify(
    status === "denied" ? { status, exception: message } : { error: message, tool: name, status },
  );
  const shown = { status: status === "denied" ? "denied" : "error", message, text } as const;
  return { text, data: refusedProgress(calling, shown) };
}
