// The resource of the Responses dialect: changes of an answer update it, and a listener receives the updates as wire events. The
// body is the builder's final state and the stream is its event sequence. With several choices the output has the items of all
// choices, in order of their start.

import { promptProgress } from "../shared/progress.ts";
import type { AgentEvent, AnswerEvent, FileObject, FoundTool } from "../../core/agent.ts";
import { assert } from "../../core/assert.ts";
import { defined } from "../../core/defined.ts";
import type { ErrorData } from "../../core/error.ts";
import type { FinishReason, RunEvent, TokenLogprob } from "../../core/run.ts";
import {
  type AnswerBlock,
  type AnswerChanges,
  type AnswerChoice,
  AnswerReducer,
  type CallBlock,
  type Ending,
} from "../shared/answer-reducer.ts";
import type { ProgressEvent } from "../shared/progress.ts";
import { type GeneratedDraft, type ItemDraft, itemOf, type MessageDraft, textOf } from "./drafts.ts";
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
import { isSearchComplete, type SearchComplete } from "../shared/tool-search.ts";
import { compactionItem } from "./compaction.ts";
import { searchCallItem, searchOutputItem, TOOL_SEARCH_NAME } from "./tool-search.ts";
import type { ToolNames } from "./tool-names.ts";

export interface BuilderOptions {
  readonly head: ResponseHead;
  readonly choices: number;
  /** Maps model-visible names back to functions. Absent: names are unchanged. */
  readonly names?: Pick<ToolNames, "qualified" | "isCustom" | "isSearch">;
  /** Current time, Unix seconds. */
  readonly clock: () => number;
  readonly listener?: ResponseListener;
}

type HostedOutputItem = Extract<ItemDraft, { kind: "hosted" }>["item"];

/** Reasons that leave a response incomplete, in the dialect's words. */
const CUTS: ReadonlyMap<FinishReason, "max_output_tokens" | "content_filter"> = new Map([
  ["length", "max_output_tokens"],
  ["content_filter", "content_filter"],
]);

/** A response under construction. */
export class ResponseBuilder implements AnswerChanges {
  private readonly options: BuilderOptions;
  private readonly emitter: ResponseEmitter;
  private readonly reducer: AnswerReducer;
  private readonly items: ItemDraft[] = [];
  /** The items of open blocks, by choice. */
  private readonly open: GeneratedDraft[] = [];
  /** Running shell calls, by call id. */
  private readonly shells = new Map<string, ItemDraft>();
  /** Files to be cited by the next message. */
  private uncited: FileCitation[] = [];
  private status: ResponseStatus = "in_progress";
  private error: ErrorData | undefined;
  private usage: ReturnType<typeof usageBody> | null = null;
  private completedAt: number | undefined;
  private cut: "max_output_tokens" | "content_filter" | undefined;
  private adapterGeneration: string | undefined;
  /** The model that accepted the run, where it is another than the head's: a fallback. */
  private answeredBy: string | undefined;
  /** Of the choices, in their order, where asked for. */
  private readonly fingerprints: string[] = [];

  constructor(options: BuilderOptions) {
    this.options = options;
    this.emitter = new ResponseEmitter(options.listener);
    const { choices, names } = options;
    const isCustom = (name: string) => names?.isCustom(name) === true;
    this.reducer = new AnswerReducer({ choices, isCustom, citesFiles: true, changes: this });
  }

  /** Whether the response has ended. */
  get isFinal(): boolean {
    return isFinal(this.status);
  }

  /** Session id of the run, once known. */
  get sessionId(): string | undefined {
    return this.reducer.agent.session();
  }

  /** Marks a background response as queued. Call before any event. */
  queue(): void {
    this.status = "queued";
    this.emitter.lifecycle("response.created", () => this.resource());
    this.emitter.lifecycle("response.queued", () => this.resource());
  }

  /** Adds an event; events after the terminal one are ignored. */
  add(event: AnswerEvent): void {
    if (!this.isFinal) this.reducer.add(event);
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
      usage: this.usage,
      ...defined({ adapter_generation: this.adapterGeneration }),
      ...this.reducer.agent.cut(),
      ...(this.fingerprints.length === 0 ? {} : { fingerprint: this.fingerprints.join(", ") }),
      ...head.echo,
    };
  }

  /** Items of the first choice and compactions, which continue the conversation. */
  answer(): readonly OutputItem[] {
    const goesOn = (draft: ItemDraft): boolean =>
      draft.choice === 0 || (draft.kind === "hosted" && draft.item.type === "compaction");
    return this.items.filter(goesOn).map((draft) => itemOf(draft));
  }

  keeps(): boolean {
    return true;
  }

  progress(event: ProgressEvent): string {
    if (event.type === "prompt_progress") this.emitter.progress(promptProgress(event), () => this.resource());
    return ""; // while the model is loaded there is no response yet
  }

  accepted({ adapterGeneration, answeredBy }: Extract<RunEvent, { type: "accepted" }>): string {
    this.adapterGeneration = adapterGeneration;
    this.answeredBy = answeredBy;
    const wasQueued = this.status === "queued";
    this.status = "in_progress";
    if (!wasQueued) this.emitter.lifecycle("response.created", () => this.resource());
    this.emitter.lifecycle("response.in_progress", () => this.resource());
    return "";
  }

  opened(block: AnswerBlock): string {
    if (this.isSearch(block)) return "";
    const draft = this.draftOf(block);
    this.open[block.choice] = draft;
    this.append(draft);
    return "";
  }

  delta(block: AnswerBlock, text: string, tokens: readonly TokenLogprob[] | undefined): string {
    const { type, choice } = block;
    if (this.isSearch(block)) return "";
    const draft = this.open[choice];
    assert(draft !== undefined, "a delta of an item that is not open");
    if (type === "call" && text === "") return "";
    this.emitter.delta(draft, text, type === "text" ? tokens : undefined); // reasoning items have no such field
    return "";
  }

  closed(block: AnswerBlock, reason?: FinishReason): string {
    const { choice } = block;
    if (this.isSearch(block)) {
      const call = { callId: block.id, args: block.pieces.join(""), execution: "client" as const };
      this.addWhole(searchCallItem(this.nextId("tsc"), call));
      return "";
    }
    const draft = this.open[choice];
    assert(draft !== undefined, "an item is closed that is not open");
    const text = textOf(draft);
    draft.pieces.splice(0, draft.pieces.length, text);
    this.emitter.textDone(draft, text);
    if (draft.kind === "message") this.cite(draft);
    if (draft.kind === "message" || draft.kind === "reasoning") this.emitter.part("done", draft, text);
    this.finish(draft, reason !== undefined && CUTS.has(reason) ? "incomplete" : "completed");
    return "";
  }

  /** An empty answer becomes an empty message, unless it has calls or was truncated during reasoning. Files are cited by a message. */
  needsText({ blocks }: AnswerChoice, reason: FinishReason): boolean {
    const isEmpty = blocks.every(({ type }) => type === "reasoning");
    return this.uncited.length > 0 || (isEmpty && (!CUTS.has(reason) || blocks.length === 0));
  }

  ended({ choice, reason, fingerprint }: Ending): string {
    if (fingerprint !== undefined) this.fingerprints[choice] = fingerprint;
    this.cut ??= CUTS.get(reason);
    return "";
  }

  agent(event: AgentEvent): string {
    if (event.type === "file_produced") this.addFile(event.file);
    if (event.type === "context_edited")
      for (const edit of event.edits)
        if (edit.type === "compaction") this.addWhole(compactionItem(this.nextId("cmp"), edit));
    if (isShellCalling(event)) this.startShell(event.callId, shellCallItem(this.nextId("sc"), event));
    if (isShellComplete(event)) this.endShell(event.callId);
    // The official client throws for events that it does not know; a search has items of its own.
    if (!("toolName" in event) || event.toolName !== TOOL_SEARCH_NAME) this.emitter.agent(event);
    if (isShellComplete(event)) this.addWhole(shellOutputItem(this.nextId("sco"), event));
    if (isSearchComplete(event)) this.addSearch(event);
    return "";
  }

  finished({ usage }: Extract<RunEvent, { type: "finish" }>): string {
    this.usage = usageBody(usage);
    this.end(this.cut === undefined ? "completed" : "incomplete");
    return "";
  }

  failed(error: ErrorData): string {
    this.error = error;
    this.emitter.failed(error);
    this.end("failed");
    return "";
  }

  /** The item of a block, which shares its texts. */
  private draftOf(block: AnswerBlock): GeneratedDraft {
    const { choice, pieces } = block;
    const common = { index: this.items.length, choice, status: "in_progress" as const, pieces };
    switch (block.type) {
      case "text": {
        const id = this.nextId("msg");
        return { id, ...common, kind: "message", tokens: block.tokens, citations: [] };
      }
      case "reasoning": {
        const summary = defined({ summarized: this.options.head.summarizes });
        return { id: this.nextId("rs"), ...common, kind: "reasoning", ...summary };
      }
      case "call": {
        const { id: callId, name, custom } = block;
        if (custom !== undefined) return { id: this.nextId("ctc"), ...common, kind: "custom", callId, name };
        const called = this.options.names?.qualified(name) ?? { name };
        return { id: this.nextId("fc"), ...common, kind: "call", callId, ...called };
      }
    }
  }

  /** A search for tools that the client executes is no function call. */
  private isSearch(block: AnswerBlock): block is CallBlock {
    return block.type === "call" && this.options.names?.isSearch(block.name) === true;
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

  private nextId(prefix: Parameters<typeof outputItemId>[0]): string {
    return outputItemId(prefix, this.options.head.id, this.items.length);
  }

  private startShell(callId: string, item: ReturnType<typeof shellCallItem>): void {
    const draft = this.hostedDraft(item);
    this.shells.set(callId, draft);
    this.append(draft);
  }

  private endShell(callId: string): void {
    const draft = this.shells.get(callId);
    if (draft === undefined) return; // the call was denied, so no shell_call item was added
    this.shells.delete(callId);
    this.finish(draft, "completed");
  }

  /** A search that the server has executed, as its call and the functions that it has found. */
  private addSearch(event: SearchComplete): void {
    const { callId, arguments: args } = event;
    this.addWhole(searchCallItem(this.nextId("tsc"), { callId, args, execution: "server" }));
    const functionOf = ({ name, ...tool }: FoundTool) => {
      const { name: own, namespace } = this.options.names?.qualified(name) ?? { name, namespace: undefined };
      const found = { type: "function", name: own, ...tool, defer_loading: true };
      return namespace === undefined ? found : { type: "namespace", name: namespace, tools: [found] };
    };
    this.addWhole(searchOutputItem(this.nextId("tso"), event, functionOf));
  }

  private addWhole(item: HostedOutputItem): void {
    const draft = this.hostedDraft(item);
    this.append(draft);
    this.finish(draft, "completed");
  }

  private hostedDraft(item: HostedOutputItem): ItemDraft {
    const { id, status } = item;
    return { id, index: this.items.length, choice: undefined, status, kind: "hosted", item };
  }

  private end(status: "completed" | "incomplete" | "failed" | "cancelled"): void {
    for (const draft of this.items) if (draft.status === "in_progress") draft.status = "incomplete";
    this.status = status;
    if (status === "completed") this.completedAt = this.options.clock();
    this.emitter.lifecycle(status === "cancelled" ? "response.incomplete" : `response.${status}`, () =>
      this.resource(),
    );
  }
}
