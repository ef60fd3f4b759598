// One pass of the agent loop: forwards the client's events at once and collects text, reasoning and tool calls.

import { assert, unreachable } from "../core/assert.ts";
import { defined } from "../core/defined.ts";
import type { RunEvent } from "../core/run.ts";
import type { ToolCall } from "../core/message.ts";
import type { Cost } from "./cost.ts";

/** A call that the model made. */
export interface ModelCall extends Omit<ToolCall, "namespace"> {
  /** Whether the client executes it; its events were then forwarded. */
  readonly isClients: boolean;
}

export interface PassResult {
  readonly text: string;
  readonly reasoning: string;
  readonly calls: readonly ModelCall[];
  /** End of the single choice, not yet sent; absent for a prompt-only run. */
  readonly end?: Extract<RunEvent, { type: "choice_end" }>;
  readonly cost: Cost;
}

export interface PassOptions {
  /** Only the first pass of an answer forwards `accepted`. */
  readonly isFirst: boolean;
  /** Whether the client executes calls of this name. Needs only the name, so that arguments can be streamed. */
  readonly isClients: (name: string) => boolean;
}

interface Draft {
  readonly id: string;
  readonly name: string;
  readonly args: string[];
  /** Position among the client's calls; undefined for a call that the client never sees. */
  readonly clientIndex: number | undefined;
}

/** Collects one pass. */
export class Pass {
  /** Set by the pass's `finish`; a failed or aborted pass has none. */
  result: PassResult | undefined;
  /** The pass has ended with a result or an error. */
  isOver = false;
  private readonly options: PassOptions;
  private readonly drafts: Draft[] = [];
  private readonly text: string[] = [];
  private readonly reasoning: string[] = [];
  private clientCalls = 0;
  private end: PassResult["end"] | undefined;

  constructor(options: PassOptions) {
    this.options = options;
  }

  /** Collects an event of the run. Returns the event that the client gets: text, reasoning and its own calls. */
  take(event: RunEvent): RunEvent | undefined {
    switch (event.type) {
      case "accepted":
        return this.options.isFirst ? event : undefined;
      case "load_progress":
      case "prompt_progress":
      case "context_edited": // by an upstream server
        return event;
      case "text":
      case "reasoning":
        this[event.type].push(event.text);
        return event;
      case "tool_call_start": {
        const { index, id, name } = event;
        const clientIndex = this.options.isClients(name) ? this.clientCalls++ : undefined;
        this.drafts[index] = { id, name, args: [], clientIndex };
        return clientIndex === undefined ? undefined : { ...event, index: clientIndex };
      }
      case "tool_call_args": {
        const draft = this.drafts[event.index];
        assert(draft !== undefined, "arguments arrive for a tool call that has not started");
        draft.args.push(event.delta);
        return draft.clientIndex === undefined ? undefined : { ...event, index: draft.clientIndex };
      }
      case "choice_end":
        this.end = event;
        return undefined;
      case "finish": {
        const { usage, timings } = event;
        const { text, reasoning, end } = this;
        const output = {
          text: text.join(""),
          reasoning: reasoning.join(""),
          calls: this.drafts.map(madeCall),
        };
        this.result = { ...output, ...defined({ end }), cost: { usage, timings } };
        this.isOver = true;
        return undefined;
      }
      case "error":
        this.isOver = true;
        return event;
      default:
        return unreachable(event);
    }
  }
}

function madeCall({ id, name, args, clientIndex }: Draft): ModelCall {
  const text = args.join("");
  return { id, name, arguments: text === "" ? "{}" : text, isClients: clientIndex !== undefined };
}
