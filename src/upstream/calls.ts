// Tool calls of one choice, from the deltas of servers that number and name them differently. Pure.

import { newId } from "../core/id.ts";
import { jsonIn } from "../core/json.ts";
import type { RunEvent } from "../core/run.ts";
import type { ToolCall } from "../core/message.ts";
import { type Carried, type Fields, withPiece } from "./carried.ts";
import { argumentsOf } from "./forms.ts";
import type { WireDelta, WireToolCall } from "./wire.ts";

interface Call {
  readonly id: string;
  name: string;
  args: string;
  /** Index in svc's events; undefined before its name is known, and for a call that is left out. */
  index: number | undefined;
  readonly isLeftOut: boolean;
  fields: Fields;
  functionFields: Fields;
}

/** A call of an answer with what has to go back beside it. */
export type AnsweredCall = Carried & Omit<ToolCall, "namespace">;

/** The calls of a choice so far. */
export class ChoiceCalls {
  private readonly choice: number;
  private readonly isSingle: boolean;
  private readonly calls: Call[] = [];
  private readonly open = new Map<number, Call>(); // by the upstream's index
  private begun = 0; // in our events
  private reasoning = "";
  private fields: Fields = {};

  /** `isSingle`: of several calls only the first one counts. */
  constructor(choice: number, isSingle: boolean) {
    this.choice = choice;
    this.isSingle = isSingle;
  }

  /** Calls that events have told of. */
  get count(): number {
    return this.begun;
  }

  /** Calls so far, also those without a name. */
  get total(): number {
    return this.calls.length;
  }

  get answered(): readonly AnsweredCall[] {
    const { fields: message, reasoning } = this;
    return this.calls.map(({ id, name, args, fields: call, functionFields }) => {
      return { id, name, arguments: args, message, call, function: functionFields, reasoning };
    });
  }

  /** Events of a delta, whose reasoning was read already. */
  take(delta: WireDelta, reasoning: string): readonly RunEvent[] {
    this.reasoning += reasoning;
    this.fields = withPiece(this.fields, delta);
    return (delta.tool_calls ?? []).flatMap((wire, position) => this.piece(wire, wire.index ?? position));
  }

  /** Events of calls that never got a name. */
  end(): readonly RunEvent[] {
    return this.calls.flatMap((call) => this.started(call));
  }

  private piece(wire: WireToolCall, at: number): readonly RunEvent[] {
    const known = this.open.get(at);
    const isOld = known !== undefined && !beginsAnother(known, wire);
    const call = isOld ? known : this.begin(wire, at);
    const args = argumentsOf(wire.function?.arguments);
    call.args += args;
    call.fields = withPiece(call.fields, wire);
    call.functionFields = withPiece(call.functionFields, wire.function);
    if (call.name === "") call.name = wire.function?.name ?? "";
    if (call.index === undefined) return call.name === "" ? [] : this.started(call);
    return args === "" ? [] : [this.argsOf(call.index, args)];
  }

  private begin({ id }: WireToolCall, at: number): Call {
    const call: Call = {
      id: id === undefined || id === null || id === "" ? newId("call_") : id,
      name: "",
      args: "",
      index: undefined,
      isLeftOut: this.isSingle && this.calls.length > 0,
      fields: {},
      functionFields: {},
    };
    this.calls.push(call);
    this.open.set(at, call);
    return call;
  }

  /** The start of a call that has none yet, with the arguments so far. */
  private started(call: Call): readonly RunEvent[] {
    if (call.index !== undefined || call.isLeftOut) return [];
    const index = this.begun++;
    call.index = index;
    const { id, name, args } = call;
    const start: RunEvent = { type: "tool_call_start", choice: this.choice, index, id, name };
    return args === "" ? [start] : [start, this.argsOf(index, args)];
  }

  private argsOf(index: number, delta: string): RunEvent {
    return { type: "tool_call_args", choice: this.choice, index, delta };
  }
}

/**
 * Whether a piece with the index of a known call is another call: some servers number every call 0, with or without ids. A name
 * that is repeated before the arguments are whole is the same call's.
 */
function beginsAnother(known: Call, { id, function: named }: WireToolCall): boolean {
  const name = named?.name ?? "";
  if (name === "" || known.name === "") return false;
  if (id !== undefined && id !== null && id !== "") return id !== known.id;
  return name !== known.name || jsonIn(known.args) !== undefined; // no more arguments can come
}
