// State machine of the Responses dialect: AnswerEvents update a response, and a listener receives the updates as wire
// events. The body is the builder's final state and the stream is its event sequence, so they cannot disagree.
//
// Each choice has at most one open item, which receives its deltas; a delta of another type closes it. With several
// choices the output has the items of all choices, in order of their start.

import { CustomInput } from "../shared/custom-tools.ts";
import { promptProgress } from "../shared/progress.ts";
import type { AgentEvent, AnswerEvent, FileObject } from "../../core/agent.ts";
import { assert, unreachable } from "../../core/assert.ts";
import { defined } from "../../core/defined.ts";
import type { ErrorData } from "../../core/error.ts";
import type { FinishReason, RunEvent, Usage } from "../../core/run.ts";
import { cutFilesBody, isAgentEvent } from "../shared/agent-events.ts";
import {
  type CallDraft,
  type CustomDraft,
  type ItemDraft,
  itemOf,
  type MessageDraft,
  type ReasoningDraft,
  textOf,
  type GeneratedDraft,
} from "./drafts.ts";
import { containerId, outputItemId } from "./ids.ts";
import type { FileCitation, ItemStatus, OutputItem } from "./output-items.ts";
import {
  errorBody,
  isFinal,
  type ResponseHead,
  type ResponseResource,
  type ResponseStatus,
  usageBody,
} from "./resource.ts";
import { isShellCalling, isShellComplete, shellCallItem, shellOutputItem } from "./shell.ts";
import { type ResponseListener, ResponseEmitter } from "./emitter.ts";
import type { ToolNames } from "./tool-names.ts";

export interface BuilderOptions {
  readonly head: ResponseHead;
  readonly choices: number;
  /** Maps model-visible names back to functions. Absent: names are unchanged. */
  readonly names?: Pick<ToolNames, "qualified" | "isCustom">;
  /** Current time, Unix seconds. */
  readonly clock: () => number;
  readonly listener?: ResponseListener;
}

/** State of a choice. */
interface Choice {
  /** The item that receives deltas. */
  open: GeneratedDraft | undefined;
  readonly calls: (CallDraft | CustomDraft)[];
  items: number;
  hasMessage: boolean;
}

/** Reasons that leave a response incomplete, in the dialect's words. */
const CUTS: ReadonlyMap<FinishReason, "max_output_tokens" | "content_filter"> = new Map([
  ["length", "max_output_tokens"],
  ["content_filter", "content_filter"],
]);

/** A response under construction. */
export class ResponseBuilder {
  private readonly options: BuilderOptions;
  private readonly emitter: ResponseEmitter;
  private readonly items: ItemDraft[] = [];
  private readonly choices: readonly Choice[];
  /** Running shell calls, by call id. */
  private readonly shells = new Map<string, ItemDraft>();
  /** Files to be cited by the next message. */
  private uncited: FileCitation[] = [];
  private status: ResponseStatus = "in_progress";
  private error: ErrorData | undefined;
  private usage: Usage | undefined;
  private completedAt: number | undefined;
  private cut: "max_output_tokens" | "content_filter" | undefined;
  private session: string | undefined;
  private cutFiles: ReturnType<typeof cutFilesBody> | undefined;
  private adapterGeneration: string | undefined;
  /** The model that accepted the run, where it is another than the head's: a fallback. */
  private answeredBy: string | undefined;
  /** Of the choices, in their order, where asked for. */
  private readonly fingerprints: string[] = [];

  constructor(options: BuilderOptions) {
    this.options = options;
    this.emitter = new ResponseEmitter(options.listener);
    this.choices = Array.from({ length: options.choices }, () => ({
      open: undefined,
      calls: [],
      items: 0,
      hasMessage: false,
    }));
  }

  /** Whether the response has ended. */
  get isFinal(): boolean {
    return isFinal(this.status);
  }

  /** Session id of the run, once known. */
  get sessionId(): string | undefined {
    return this.session;
  }

  /** Marks a background response as queued. Call before any event. */
  queue(): void {
    this.status = "queued";
    this.emitter.lifecycle("response.created", () => this.resource());
    this.emitter.lifecycle("response.queued", () => this.resource());
  }

  /** Adds an event; events after the terminal one are ignored. */
  add(event: AnswerEvent): void {
    if (this.isFinal) return;
    if (isAgentEvent(event)) return this.addAgentEvent(event);
    switch (event.type) {
      case "load_progress":
        return; // there is no response yet
      case "prompt_progress":
        return this.emitter.progress(promptProgress(event), () => this.resource());
      case "accepted":
        this.adapterGeneration = event.adapterGeneration;
        this.answeredBy = event.answeredBy;
        return this.begin();
      case "text":
      case "reasoning":
        return this.addText(event);
      case "tool_call_start":
        return this.startCall(event);
      case "tool_call_args": {
        const call = this.choice(event.choice).calls[event.index];
        assert(
          call !== undefined && call.status === "in_progress",
          "arguments for a tool call that is not open",
        );
        const text = call.kind === "custom" ? call.reader.add(event.delta) : event.delta;
        if (text === "") return;
        call.pieces.push(text);
        return this.emitter.delta(call, text);
      }
      case "choice_end":
        if (event.fingerprint !== undefined) this.fingerprints[event.choice] = event.fingerprint;
        return this.endChoice(event.choice, event.reason);
      case "finish":
        this.usage = event.usage;
        return this.end(this.cut === undefined ? "completed" : "incomplete");
      case "error":
        return this.fail(event.error);
      default:
        return unreachable(event);
    }
  }

  /** Cancels the response. Its stream ends with response.incomplete, because the dialect has no event for cancellation. */
  cancel(): void {
    if (!this.isFinal) this.end("cancelled");
  }

  /** Current state of the resource. */
  resource(): ResponseResource {
    const { head } = this.options;
    const reason = { incomplete: this.cut ?? "max_output_tokens", cancelled: "interrupted" } as const;
    return {
      id: head.id,
      object: "response",
      created_at: head.created,
      completed_at: this.completedAt ?? null,
      status: this.status,
      error: this.error === undefined ? null : errorBody(this.error),
      incomplete_details:
        this.status === "incomplete" || this.status === "cancelled" ? { reason: reason[this.status] } : null,
      model: this.answeredBy ?? head.model,
      output: this.items.map((draft) => itemOf(draft)),
      usage: this.usage === undefined ? null : usageBody(this.usage),
      ...defined({ adapter_generation: this.adapterGeneration, cut_files: this.cutFiles }),
      ...(this.fingerprints.length === 0 ? {} : { fingerprint: this.fingerprints.join(", ") }),
      ...head.echo,
    };
  }

  /** Items of the first choice, which continue the conversation. */
  answer(): readonly OutputItem[] {
    return this.items.filter(({ choice }) => choice === 0).map((draft) => itemOf(draft));
  }

  private begin(): void {
    const wasQueued = this.status === "queued";
    this.status = "in_progress";
    if (!wasQueued) this.emitter.lifecycle("response.created", () => this.resource());
    this.emitter.lifecycle("response.in_progress", () => this.resource());
  }

  private addText({ type, choice, text, logprobs }: Extract<RunEvent, { type: "text" | "reasoning" }>): void {
    const draft = type === "text" ? this.openMessage(choice) : this.openReasoning(choice);
    draft.pieces.push(text);
    const messageLogprobs = draft.kind === "message" ? logprobs : undefined; // reasoning items have no such field
    if (draft.kind === "message" && messageLogprobs !== undefined) draft.tokens.push(...messageLogprobs);
    this.emitter.delta(draft, text, messageLogprobs);
  }

  private openMessage(index: number): MessageDraft {
    const choice = this.choice(index);
    if (choice.open?.kind === "message") return choice.open;
    choice.hasMessage = true;
    return this.open<MessageDraft>({
      ...this.next("msg", index),
      kind: "message",
      tokens: [],
      citations: [],
    });
  }

  private openReasoning(index: number): ReasoningDraft {
    const { open } = this.choice(index);
    if (open?.kind === "reasoning") return open;
    const summarized = this.options.head.summarizes;
    return this.open<ReasoningDraft>({
      ...this.next("rs", index),
      kind: "reasoning",
      ...defined({ summarized }),
    });
  }

  private startCall(event: Extract<RunEvent, { type: "tool_call_start" }>): void {
    const { names } = this.options;
    const { choice, id: callId, name, index } = event;
    const draft: CallDraft | CustomDraft =
      names?.isCustom(name) === true
        ? { ...this.next("ctc", choice), kind: "custom", callId, name, reader: new CustomInput() }
        : { ...this.next("fc", choice), kind: "call", callId, ...(names?.qualified(name) ?? { name }) };
    this.choice(choice).calls[index] = this.open(draft);
  }

  /** Closes the open item of a choice and returns the common fields of the next one. */
  private next(prefix: "msg" | "rs" | "fc" | "ctc", choice: number) {
    this.close(this.choice(choice));
    const id = outputItemId(prefix, this.options.head.id, this.items.length);
    const status: ItemStatus = "in_progress";
    return { id, index: this.items.length, choice, status, pieces: [] };
  }

  private open<D extends GeneratedDraft>(draft: D): D {
    const choice = this.choice(draft.choice ?? 0);
    choice.open = draft;
    choice.items++;
    this.append(draft);
    return draft;
  }

  /** Closes the open item of a choice, if any. */
  private close(choice: Choice, status: ItemStatus = "completed"): void {
    const draft = choice.open;
    if (draft === undefined) return;
    choice.open = undefined;
    const text = textOf(draft);
    draft.pieces.splice(0, draft.pieces.length, text);
    this.emitter.textDone(draft, text);
    if (draft.kind === "message") this.cite(draft);
    if (draft.kind === "message" || draft.kind === "reasoning") this.emitter.part("done", draft, text);
    this.finish(draft, status);
  }

  private append(draft: ItemDraft): void {
    this.items.push(draft);
    this.emitter.added(draft);
  }

  private finish(draft: ItemDraft, status: ItemStatus): void {
    draft.status = status;
    this.emitter.done(draft);
  }

  /** Adds the uncited files to a message. */
  private cite(draft: MessageDraft): void {
    for (const citation of this.uncited)
      this.emitter.annotated(draft, draft.citations.push(citation) - 1, citation);
    this.uncited = [];
  }

  /** An empty answer becomes an empty message, unless it has calls or was truncated during reasoning. */
  private endChoice(index: number, reason: FinishReason): void {
    const choice = this.choice(index);
    const isEmpty = !choice.hasMessage && choice.calls.length === 0;
    const hasFiles = this.uncited.length > 0 && choice.open?.kind !== "message";
    const cut = CUTS.get(reason);
    if (hasFiles || (isEmpty && (cut === undefined || choice.items === 0))) this.openMessage(index);
    this.close(choice, cut === undefined ? "completed" : "incomplete");
    this.cut ??= cut;
  }

  private addAgentEvent(event: AgentEvent): void {
    if (event.type === "session") this.session = event.sessionId;
    else if (event.type === "input_cut") this.cutFiles = cutFilesBody(event.files);
    else if (event.type === "file_produced") this.addFile(event.file);
    // The model's output of this round is complete before the server acts.
    else for (const choice of this.choices) this.close(choice);
    if (isShellCalling(event)) this.startShell(event.callId, shellCallItem(this.nextId("sc"), event));
    if (isShellComplete(event)) this.endShell(event.callId);
    this.emitter.agent(event);
    if (isShellComplete(event)) this.addShellOutput(shellOutputItem(this.nextId("sco"), event));
  }

  /** Queues a file for citation, unless it could not be produced. */
  private addFile({ id, name, code }: FileObject): void {
    if (code !== undefined) return;
    this.uncited.push({
      type: "container_file_citation",
      container_id: containerId(this.options.head.id),
      file_id: id,
      filename: name,
      start_index: 0,
      end_index: 0,
    });
  }

  private nextId(prefix: "sc" | "sco"): string {
    return outputItemId(prefix, this.options.head.id, this.items.length);
  }

  private startShell(callId: string, item: ReturnType<typeof shellCallItem>): void {
    const draft = this.shellDraft(item);
    this.shells.set(callId, draft);
    this.append(draft);
  }

  private endShell(callId: string): void {
    const draft = this.shells.get(callId);
    if (draft === undefined) return; // the call was denied, so no shell_call item was added
    this.shells.delete(callId);
    this.finish(draft, "completed");
  }

  private addShellOutput(item: ReturnType<typeof shellOutputItem>): void {
    const draft = this.shellDraft(item);
    this.append(draft);
    this.finish(draft, "completed");
  }

  private shellDraft(item: ReturnType<typeof shellCallItem | typeof shellOutputItem>): ItemDraft {
    const { id, status } = item;
    return { id, index: this.items.length, choice: undefined, status, kind: "shell", item };
  }

  private fail(error: ErrorData): void {
    this.error = error;
    this.emitter.failed(error);
    this.end("failed");
  }

  private end(status: "completed" | "incomplete" | "failed" | "cancelled"): void {
    for (const draft of this.items) if (draft.status === "in_progress") draft.status = "incomplete";
    this.status = status;
    if (status === "completed") this.completedAt = this.options.clock();
    this.emitter.lifecycle(status === "cancelled" ? "response.incomplete" : `response.${status}`, () =>
      this.resource(),
    );
  }

  private choice(index: number): Choice {
    const choice = this.choices[index];
    assert(choice !== undefined, "event for a choice that was not requested");
    return choice;
  }
}
