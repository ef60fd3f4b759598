// The one state machine of this dialect: AnswerEvents change a response and are told to a listener as wire events. The
// body is what the builder holds at the end, the stream is what its listener heard, so they cannot disagree.
//
// Each choice has at most one item open, to which its pieces are added; another kind of piece closes it. With several
// choices the output has the items of all of them, in the order in which they began.

import type { AgentEvent, AnswerEvent, FileObject } from "../../core/agent.ts";
import { assert, unreachable } from "../../core/assert.ts";
import { defined } from "../../core/defined.ts";
import type { ErrorData } from "../../core/error.ts";
import type { FinishReason, RunEvent, Usage } from "../../core/run.ts";
import { isAgentEvent } from "../shared/agent-events.ts";
import {
  type CallDraft,
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
  /** The functions behind the names that the model uses. Absent: the names themselves. */
  readonly names?: Pick<ToolNames, "qualified">;
  /** The time, Unix seconds. */
  readonly clock: () => number;
  readonly listener?: ResponseListener;
}

/** What a choice has so far. */
interface Choice {
  /** The item that its pieces are added to. */
  open: GeneratedDraft | undefined;
  readonly calls: CallDraft[];
  items: number;
  hasMessage: boolean;
}

/** A response that is being made. */
export class ResponseBuilder {
  private readonly options: BuilderOptions;
  private readonly emitter: ResponseEmitter;
  private readonly items: ItemDraft[] = [];
  private readonly choices: readonly Choice[];
  /** Shell calls that run, by their id. */
  private readonly shells = new Map<string, ItemDraft>();
  /** Files that the next message will cite. */
  private uncited: FileCitation[] = [];
  private status: ResponseStatus = "in_progress";
  private error: ErrorData | undefined;
  private usage: Usage | undefined;
  private completedAt: number | undefined;
  private isCut = false;
  private session: string | undefined;
  private generation: string | undefined;

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

  /** Whether its terminal event has come. */
  get isFinal(): boolean {
    return isFinal(this.status);
  }

  /** The session of the run, once known. */
  get sessionId(): string | undefined {
    return this.session;
  }

  /** For a response that waits for its turn in the background: before any event. */
  queue(): void {
    this.status = "queued";
    this.emitter.lifecycle("response.created", () => this.resource());
    this.emitter.lifecycle("response.queued", () => this.resource());
  }

  /** Takes the next event; whatever comes after the terminal one is ignored. */
  add(event: AnswerEvent): void {
    if (this.isFinal) return;
    if (isAgentEvent(event)) return this.addAgentEvent(event);
    switch (event.type) {
      case "accepted":
        this.generation = event.adapterGeneration;
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
          "arguments come while their call is open",
        );
        call.pieces.push(event.delta);
        return this.emitter.delta(call, event.delta);
      }
      case "choice_end":
        return this.endChoice(event.choice, event.reason);
      case "finish":
        this.usage = event.usage;
        return this.end(this.isCut ? "incomplete" : "completed");
      case "error":
        return this.fail(event.error);
      default:
        return unreachable(event);
    }
  }

  /** Ends a response that nobody wants any more. Its stream ends as incomplete: there is no event for this. */
  cancel(): void {
    if (!this.isFinal) this.end("cancelled");
  }

  /** The resource as it stands. */
  resource(): ResponseResource {
    const { head } = this.options;
    const reason = { incomplete: "max_output_tokens", cancelled: "interrupted" } as const;
    return {
      id: head.id,
      object: "response",
      created_at: head.created,
      completed_at: this.completedAt ?? null,
      status: this.status,
      error: this.error === undefined ? null : errorBody(this.error),
      incomplete_details:
        this.status === "incomplete" || this.status === "cancelled" ? { reason: reason[this.status] } : null,
      model: head.model,
      output: this.items.map((draft) => itemOf(draft)),
      usage: this.usage === undefined ? null : usageBody(this.usage),
      ...defined({ adapter_generation: this.generation }),
      ...head.echo,
    };
  }

  /** Items of the first choice: what a conversation goes on with. */
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
    const rated = draft.kind === "message" ? logprobs : undefined; // reasoning has no place for them
    if (draft.kind === "message" && rated !== undefined) draft.tokens.push(...rated);
    this.emitter.delta(draft, text, rated);
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
    return this.open<ReasoningDraft>({ ...this.next("rs", index), kind: "reasoning" });
  }

  private startCall(event: Extract<RunEvent, { type: "tool_call_start" }>): void {
    const called = this.options.names?.qualified(event.name) ?? { name: event.name };
    const draft: CallDraft = { ...this.next("fc", event.choice), kind: "call", callId: event.id, ...called };
    this.choice(event.choice).calls[event.index] = this.open(draft);
  }

  /** What all items begin with, once the open one of their choice is closed. */
  private next(prefix: "msg" | "rs" | "fc", choice: number) {
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

  /** Ends the open item of a choice, if there is one. */
  private close(choice: Choice, status: ItemStatus = "completed"): void {
    const draft = choice.open;
    if (draft === undefined) return;
    choice.open = undefined;
    const text = textOf(draft);
    draft.pieces.splice(0, draft.pieces.length, text);
    this.emitter.textDone(draft, text);
    if (draft.kind === "message") this.cite(draft);
    if (draft.kind !== "call") this.emitter.part("done", draft, text);
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

  /** Files are cited by the message that follows them. */
  private cite(draft: MessageDraft): void {
    for (const citation of this.uncited)
      this.emitter.annotated(draft, draft.citations.push(citation) - 1, citation);
    this.uncited = [];
  }

  /** An answer without a word is an empty message, unless calls stand in its place or it was cut while it thought. */
  private endChoice(index: number, reason: FinishReason): void {
    const choice = this.choice(index);
    const isSilent = !choice.hasMessage && choice.calls.length === 0;
    const hasFiles = this.uncited.length > 0 && choice.open?.kind !== "message";
    if (hasFiles || (isSilent && (reason !== "length" || choice.items === 0))) this.openMessage(index);
    this.close(choice, reason === "length" ? "incomplete" : "completed");
    this.isCut ||= reason === "length";
  }

  private addAgentEvent(event: AgentEvent): void {
    if (event.type === "session") this.session = event.sessionId;
    else if (event.type === "file_produced") this.addFile(event.file);
    // The model has said all it had to say before the server acts.
    else for (const choice of this.choices) this.close(choice);
    if (isShellCalling(event)) this.startShell(event.callId, shellCallItem(this.nextId("sc"), event));
    if (isShellComplete(event)) this.endShell(event.callId);
    this.emitter.agent(event);
    if (isShellComplete(event)) this.addShellOutput(shellOutputItem(this.nextId("sco"), event));
  }

  /** What could not be made is not cited. */
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
    if (draft === undefined) return; // its call was not announced: it was not allowed to run
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
    assert(choice !== undefined, "an event names a choice that was not asked for");
    return choice;
  }
}
