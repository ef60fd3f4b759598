// One inference of a loop: what the client sees of it goes on at once, what the loop needs of it is collected.

import { assert, unreachable } from "../core/assert.ts";
import { defined } from "../core/defined.ts";
import type { RunEvent } from "../core/run.ts";
import type { Cost } from "./cost.ts";

/** A call that the model made. */
export interface MadeCall {
  readonly id: string;
  readonly name: string;
  /** As the model wrote them. */
  readonly arguments: string;
  /** Whether the client is to make it; then the client has seen it. */
  readonly isClients: boolean;
}

export interface PassResult {
  readonly text: string;
  readonly reasoning: string;
  readonly calls: readonly MadeCall[];
  /** The end of the answer's one choice, which has not been sent; absent where only the prompt was asked for. */
  readonly end?: Extract<RunEvent, { type: "choice_end" }>;
  readonly cost: Cost;
}

export interface PassOptions {
  /** Only the first pass of an answer tells that it is accepted. */
  readonly isFirst: boolean;
  /** Whether the client makes calls of this name. Known as soon as a call begins, so its arguments can be streamed. */
  readonly isClients: (name: string) => boolean;
}

interface Draft {
  readonly id: string;
  readonly name: string;
  readonly args: string[];
  /** Position among the client's calls; undefined for a call that the client never sees. */
  readonly clientIndex: number | undefined;
}

/**
 * Passes on text, reasoning and the client's calls. Returns what the pass came to; undefined when it failed, which the
 * client has then been told, or was cancelled.
 */
export async function* pass(
  events: AsyncIterable<RunEvent>,
  { isFirst, isClients }: PassOptions,
): AsyncGenerator<RunEvent, PassResult | undefined> {
  const drafts: Draft[] = [];
  const text: string[] = [];
  const reasoning: string[] = [];
  let clientCalls = 0;
  let end: PassResult["end"] | undefined;
  for await (const event of events) {
    switch (event.type) {
      case "accepted":
        if (isFirst) yield event;
        break;
      case "text":
      case "reasoning":
        (event.type === "text" ? text : reasoning).push(event.text);
        yield event;
        break;
      case "tool_call_start": {
        const { index, id, name } = event;
        const clientIndex = isClients(name) ? clientCalls++ : undefined;
        drafts[index] = { id, name, args: [], clientIndex };
        if (clientIndex !== undefined) yield { ...event, index: clientIndex };
        break;
      }
      case "tool_call_args": {
        const draft = drafts[event.index];
        assert(draft !== undefined, "arguments arrive for a tool call that has not started");
        draft.args.push(event.delta);
        if (draft.clientIndex !== undefined) yield { ...event, index: draft.clientIndex };
        break;
      }
      case "choice_end":
        end = event;
        break;
      case "finish": {
        const { usage, timings } = event;
        const said = { text: text.join(""), reasoning: reasoning.join(""), calls: drafts.map(madeCall) };
        return { ...said, ...defined({ end }), cost: { usage, timings } };
      }
      case "error":
        yield event;
        return undefined;
      default:
        unreachable(event);
    }
  }
  return undefined;
}

function madeCall({ id, name, args, clientIndex }: Draft): MadeCall {
  const text = args.join("");
  return { id, name, arguments: text === "" ? "{}" : text, isClients: clientIndex !== undefined };
}
