// One call that the server makes: asked for, made or refused, and told to the client and to the model.

import { randomBytes } from "node:crypto";
import type { AgentEvent, FileObject, RequestedFile, ToolProgress } from "../core/agent.ts";
import { ServiceError } from "../core/error.ts";
import type { Files } from "../core/files.ts";
import type { Message, TextPart } from "../core/message.ts";
import type { InputFile, ProducedFile } from "../exec/types.ts";
import { keepFile } from "./keep-file.ts";
import type { MadeCall } from "./pass.ts";
import { permit, type Permit } from "./permission.ts";
import { refusedProgress, resultContent } from "./progress.ts";
import type { MediaRoom } from "./input-media.ts";
import { modelText, perceivedMedia } from "./model-text.ts";
import { type ServerTool, ToolFailure, type ToolOutcome } from "./tool.ts";

export interface CallDeps {
  readonly permit: Permit;
  /** Where files are kept that tools make. */
  readonly files: Files;
  /** Files that came with the conversation. */
  readonly inputs: readonly InputFile[];
  /** Files that the answer must produce. */
  readonly requested: readonly RequestedFile[];
  /** Where the pictures and recordings go that calls make; absent where the model takes none. */
  readonly room: MediaRoom | undefined;
  /** Which of the user's turns this is, from 0. */
  readonly turn: number;
  readonly log: (line: string) => void;
}

/** What came of a call, whoever kept it from being made. */
interface Result extends ToolOutcome {
  readonly stored: readonly FileObject[];
}

/** Makes the calls of one answer. */
export class Caller {
  private readonly deps: CallDeps;
  /** Names the answer in the ids of its files. */
  private readonly runId = randomBytes(6).toString("hex");
  private readonly produced = new Set<string>();
  private round = 0;
  private filesOfRound = 0;

  constructor(deps: CallDeps) {
    this.deps = deps;
  }

  /** Makes a call of a round, counted from 1. Returns what the model is told; undefined when it was cancelled. */
  async *call(
    made: MadeCall,
    tool: ServerTool | undefined,
    round: number,
    signal: AbortSignal,
  ): AsyncGenerator<AgentEvent, Message | undefined> {
    if (round !== this.round) this.filesOfRound = 0;
    this.round = round;
    const args = parsed(made.arguments);
    const calling: ToolProgress = tool?.calling(args) ?? { tool_type: "custom", arguments: made.arguments };
    const at = { round, callId: made.id, toolName: made.name, arguments: made.arguments };
    yield { type: "tool_calling", ...at, data: calling };
    const refusal = yield* this.refusal(made, tool, args, signal);
    if (signal.aborted) return undefined;
    const outcome =
      refusal !== undefined || tool === undefined
        ? refused(calling, made.name, refusal ?? unknownTool(made.name))
        : await this.run(tool, args, calling, signal);
    if (signal.aborted) return undefined;
    const result: Result = { ...outcome, stored: yield* this.keep(outcome.files ?? [], made.name) };
    yield {
      type: "tool_complete",
      ...at,
      data: result.data,
      resultContent: resultContent(result.data),
      images: result.images ?? [],
      fileIds: result.stored.map(({ id }) => id),
    };
    const { perceived, notes } = perceivedMedia(result.media ?? [], this.deps.room);
    const text: TextPart = { type: "text", text: modelText(result.text, notes, result.stored) };
    return { role: "tool", toolCallId: made.id, name: made.name, content: [...perceived, text] };
  }

  /** Yields the question if there is one; returns why the call is not made. */
  private async *refusal(
    made: MadeCall,
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
    args: unknown,
    calling: ToolProgress,
    signal: AbortSignal,
  ): Promise<ToolOutcome> {
    const { permit, inputs, requested } = this.deps;
    const context = {
      sessionId: permit.session.key,
      inputs,
      required: requested.filter(({ name }) => !this.produced.has(name)),
    };
    try {
      return await tool.run(args, context, signal);
    } catch (thrown) {
      const message = this.reason(thrown, tool.spec.name);
      return refused(calling, tool.spec.name, { status: "failed", message });
    }
  }

  /** What the model may know of a failure. What nobody meant it to know is logged instead. */
  private reason(thrown: unknown, name: string): string {
    if (thrown instanceof ToolFailure || thrown instanceof ServiceError) return thrown.message;
    const detail = thrown instanceof Error ? (thrown.stack ?? thrown.message) : String(thrown);
    this.deps.log(`internal error in tool ${name}: ${detail}`);
    return "the tool failed inside the server";
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

interface Refused {
  readonly status: "denied" | "failed" | "not_found";
  readonly message: string;
}

function unknownTool(name: string): Refused {
  return { status: "not_found", message: `there is no tool named ${JSON.stringify(name)}` };
}

/** The outcome of a call that was not made, or broke off. */
function refused(calling: ToolProgress, name: string, { status, message }: Refused): ToolOutcome {
  const text = JSON.stringify(
    status === "denied" ? { status, exception: message } : { error: message, tool: name, status },
  );
  const shown = { status: status === "denied" ? "denied" : "error", message, text } as const;
  return { text, data: refusedProgress(calling, shown) };
}

/** Arguments as tools take them: parsed, or the text itself. */
function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}
