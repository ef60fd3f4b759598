// Maps functions in namespaces to flat, model-visible names and back. A flat name depends only on its function unless two
// names collide, so names are stable over turns and prefixes stay cached.
// Names are not split at `__`, which functions contain, nor numbered, which would rename all after a new one.

import type { InputMessage } from "../../core/agent.ts";
import type { ToolCall } from "../../core/message.ts";
import type { QualifiedName } from "../shared/tools.ts";

/** Constraints of models and templates on function names. */
const FLAT_CHARS_MAX = 64;
const FOREIGN_CHARS = /[^A-Za-z0-9_-]/g;

/** A function inside a namespace. */
interface Grouped {
  readonly name: string;
  readonly namespace: string;
}

export class ToolNames {
  /** Flat names by key. Functions without namespace keep their names and are not in the table. */
  private readonly flatNames = new Map<string, string>();
  private readonly grouped = new Map<string, Grouped>();
  private readonly custom: ReadonlySet<string>;

  private readonly search: string | undefined;

  /**
   * `functions`: those declared by the request and those called in its history; `custom`: names of its custom tools; `search`: of the
   * search for tools that the client executes.
   */
  constructor(functions: readonly QualifiedName[], custom: ReadonlySet<string> = new Set(), search?: string) {
    this.custom = custom;
    this.search = search;
    const taken = new Set(functions.flatMap((one) => (isGrouped(one) ? [] : [one.name])));
    const distinct = new Map(functions.filter(isGrouped).map((one) => [keyOf(one), one]));
    const wanted = Map.groupBy(distinct.values(), readableName);
    for (const [name, claimants] of wanted) {
      const isFree = claimants.length === 1 && !taken.has(name);
      for (const one of claimants) this.register(one, isFree ? name : hashedName(one), taken);
    }
  }

  /** The model-visible name of a function. */
  flat(qualified: QualifiedName): string {
    if (!isGrouped(qualified)) return qualified.name;
    return this.flatNames.get(keyOf(qualified)) ?? readableName(qualified);
  }

  /** The function with a model-visible name; names without namespace are unchanged. */
  qualified(flat: string): { readonly name: string; readonly namespace?: string } {
    return this.grouped.get(flat) ?? { name: flat };
  }

  /** Whether calls of this name are searches for tools, for the client. */
  isSearch(flat: string): boolean {
    return flat === this.search;
  }

  /** Whether calls of this name are those of a custom tool. */
  isCustom(flat: string): boolean {
    return this.custom.has(flat);
  }

  /** A conversation with model-visible names. */
  flatten(messages: readonly InputMessage[]): readonly InputMessage[] {
    const byCall = new Map<string, string>();
    return messages.map((message) => {
      if (message.toolCalls !== undefined) {
        const toolCalls = message.toolCalls.map((call) => this.flatCall(call));
        for (const { id, name } of toolCalls) byCall.set(id, name);
        return { ...message, toolCalls };
      }
      const name = message.toolCallId === undefined ? undefined : byCall.get(message.toolCallId);
      return name === undefined ? message : { ...message, name };
    });
  }

  private flatCall({ id, name, namespace, arguments: args }: ToolCall): ToolCall {
    return { id, name: this.flat({ name, namespace }), arguments: args };
  }

  private register(one: Grouped, name: string, taken: Set<string>): void {
    let free = name;
    for (let count = 2; taken.has(free); count++) free = `${name.slice(0, FLAT_CHARS_MAX - 5)}_${count}`;
    taken.add(free);
    this.flatNames.set(keyOf(one), free);
    this.grouped.set(free, one);
  }
}

/** The functions called in a conversation. */
export function calledFunctions(messages: readonly InputMessage[]): readonly QualifiedName[] {
  return messages.flatMap(({ toolCalls }) => toolCalls ?? []);
}

function isGrouped(one: QualifiedName): one is Grouped {
  return typeof one.namespace === "string" && one.namespace !== "";
}

function keyOf({ namespace, name }: Grouped): string {
  return JSON.stringify([namespace, name]);
}

/** `crm__find_customer`, shortened with a hash suffix if it is too long. */
export function readableName(one: Grouped): string {
  const name = wholeName(one);
  return name.length > FLAT_CHARS_MAX ? hashedName(one) : name;
}

function hashedName(one: Grouped): string {
  const suffix = `_${hash(keyOf(one))}`;
  return wholeName(one).slice(0, FLAT_CHARS_MAX - suffix.length) + suffix;
}

function wholeName({ namespace, name }: Grouped): string {
  return `${namespace}__${name}`.replace(FOREIGN_CHARS, "_");
}

/** FNV-1a over UTF-16 units, 32 bits, base 36. Source of the constants: draft-eastlake-fnv, section 5. */
function hash(text: string): string {
  let state = 0x811c9dc5;
  for (let index = 0; index < text.length; index++) {
    state = Math.imul(state ^ text.charCodeAt(index), 0x01000193);
  }
  return (state >>> 0).toString(36);
}
