// Tools on demand: which tools are left out of the prompt until a search has found them. The parser and the grammar of calls know all, so
// a call of one that was not found is accepted. Definitions enter the conversation as text of results, at its end: what comes before
// stays in the prefix cache.

import type { InputMessage, ToolSearch } from "../core/agent.ts";
import { defined } from "../core/defined.ts";
import type { Message, ToolSpec } from "../core/message.ts";
import type { ToolChoice } from "../core/run.ts";
import { TOOL_CHARS_PER_TOKEN, TOOLS_CONTEXT_SHARE, TOOLS_SHOWN_MIN } from "./limits.ts";
import type { ServerTool } from "./tool.ts";
import { definitionText, searchTool, type ToolSearchTool } from "./tools/tool-search.ts";

/** Name of the server's search where the request names none. */
const SEARCH_NAME = "tool_search";
/** A function of the client that searches itself. */
const OWN_SEARCH = /tool_?search/i;

/** Tools of a request that its prompt could show. */
export interface Offered {
  readonly own: readonly ServerTool[];
  readonly client: readonly ToolSpec[];
  readonly choice: ToolChoice;
  readonly messages: readonly InputMessage[];
  readonly search: ToolSearch | undefined;
  /** Context of the model; undefined if unknown. */
  readonly contextTokens: number | undefined;
  /** Tokens of definitions in the prompt; undefined: a share of the context. */
  readonly tokensMax: number | undefined;
  /** Told of each search how many tools it has found. */
  readonly onFound?: (found: number) => void;
}

/** Tools that are left out of the prompt, by name, and the server's search for them: absent where the client searches. */
export interface Deferral {
  readonly hidden: ReadonlyMap<string, ToolSpec>;
  readonly search: ToolSearchTool | undefined;
  /** The request left tools out itself, or has a search: its client expects to be shown searches. */
  readonly isAsked: boolean;
}

/** Undefined where the prompt has all tools. */
export function deferralOf(offered: Offered): Deferral | undefined {
  const { own, client, search } = offered;
  const specs = [...client, ...own.map(({ spec }) => spec)];
  const chosen = offered.choice.type === "named" ? new Set(offered.choice.names) : new Set<string>();
  const asked = specs.filter(({ deferred, name }) => deferred === true && !chosen.has(name));
  const left = asked.length > 0 ? asked : surplus(offered);
  if (left.length === 0) return undefined;
  const hidden = new Map(left.map((spec) => [spec.name, spec]));
  const isShown = ({ name }: ToolSpec): boolean => !hidden.has(name);
  const clientSearches =
    search?.isClients === true ||
    (search === undefined && client.some((spec) => isShown(spec) && OWN_SEARCH.test(spec.name)));
  const isAsked = asked.length > 0 || search !== undefined;
  if (clientSearches) return asked.length > 0 ? { hidden, search: undefined, isAsked } : undefined;
  const isTaken = specs.some(({ name }) => name === SEARCH_NAME);
  const { name = isTaken ? `svc_${SEARCH_NAME}` : SEARCH_NAME, form = "words" } = search ?? {};
  return {
    hidden,
    isAsked,
    search: searchTool({ name, form, tools: left, ...defined({ onFound: offered.onFound }) }),
  };
}

/** Characters of a tool's definition. */
function definitionChars({ name, description = "", parameters }: ToolSpec): number {
  return name.length + description.length + JSON.stringify(parameters).length;
}

/**
 * Tools that exceed the bound: the client's come first, then those of MCP servers; the server's own and a search of the client's are
 * always there. Without a bound of the settings, the first few are there if they fit the context at all: an agent cannot work without
 * them.
 */
function surplus({ own, client, choice, contextTokens, tokensMax }: Offered): readonly ToolSpec[] {
  const tokens = tokensMax ?? (contextTokens === undefined ? undefined : contextTokens * TOOLS_CONTEXT_SHARE);
  if (tokens === undefined || choice.type === "named") return [];
  const foreign = own.filter(({ action }) => action.source === "mcp").map(({ spec }) => spec);
  const first = tokensMax === undefined ? TOOLS_SHOWN_MIN : 0;
  const most = tokens * TOOL_CHARS_PER_TOKEN;
  let used = 0;
  return [...client, ...foreign].filter((spec, index) => {
    if (OWN_SEARCH.test(spec.name)) return false;
    const bound = index < first ? most * 2 : most;
    if (used < bound) used += definitionChars(spec);
    return used >= bound;
  });
}

/** The specs of a prompt: those left out are marked, and those that the conversation has found already apart from the others. */
export function markedSpecs(
  specs: readonly ToolSpec[],
  { hidden }: Deferral,
  messages: readonly InputMessage[],
): readonly ToolSpec[] {
  const found = foundIn(messages, hidden);
  return specs.map((spec) => {
    const { deferred: _, ...shown } = spec;
    return hidden.has(spec.name) ? { ...shown, deferred: found.has(spec.name) ? "found" : true } : shown;
  });
}

/** The specs of a later pass: those that the answer itself has found are marked, too. The same list if there are none. */
export function foundSince(
  specs: readonly ToolSpec[],
  { hidden }: Deferral,
  turn: readonly InputMessage[],
): readonly ToolSpec[] {
  const found = foundIn(turn, hidden);
  const isNew = (spec: ToolSpec): boolean => spec.deferred === true && found.has(spec.name);
  return specs.some(isNew)
    ? specs.map((spec) => (isNew(spec) ? { ...spec, deferred: "found" } : spec))
    : specs;
}

/** Names of left-out tools whose definitions the conversation has, or which it has called. */
function foundIn(messages: readonly InputMessage[], hidden: Deferral["hidden"]): ReadonlySet<string> {
  const names = messages.flatMap((message) => [
    ...(message.foundTools ?? []),
    ...(message.toolCalls ?? []).map(({ name }) => name),
    ...definedIn(message),
  ]);
  return new Set(names.filter((name) => hidden.has(name)));
}

const DEFINED = /^\{"name":"([^"\\]+)"/gm;

/** Names of tools whose definitions a result has. */
function definedIn({ role, content }: InputMessage): readonly string[] {
  if (role !== "tool") return [];
  return content.flatMap((part) =>
    part.type === "text" ? [...part.text.matchAll(DEFINED)].flatMap(([, name]) => name ?? []) : [],
  );
}

/**
 * A conversation with the definitions of the left-out tools that it has found, in the results that have found them. A call of one that no
 * result has found is preceded by a search for it: the client may not have seen that, or left it out.
 */
export function withDefinitions(
  messages: readonly Message[],
  { hidden, search }: Deferral,
): readonly Message[] {
  const seen = new Set<string>();
  const isNew = (name: string): boolean => hidden.has(name) && !seen.has(name);
  const textOf = (names: readonly string[]): string => {
    for (const name of names) seen.add(name);
    return names
      .flatMap((name) => hidden.get(name) ?? [])
      .map(definitionText)
      .join("\n");
  };
  return messages.flatMap((message): readonly Message[] => {
    for (const name of definedIn(message)) seen.add(name);
    const found = [...new Set(message.foundTools ?? [])].filter(isNew);
    if (found.length > 0) {
      const text = `\n${textOf(found)}`;
      return [{ ...message, content: [...message.content, { type: "text", text }] }];
    }
    const [first] = message.toolCalls ?? [];
    const called = [...new Set((message.toolCalls ?? []).map(({ name }) => name))].filter(isNew);
    if (first === undefined || called.length === 0 || search === undefined) return [message];
    const { name } = search.spec;
    const id = `search_${first.id}`;
    const call = { id, name, arguments: JSON.stringify(search.argumentsFor(called)) };
    const content = [{ type: "text" as const, text: textOf(called) }];
    return [
      { role: "assistant", content: [], toolCalls: [call] },
      { role: "tool", toolCallId: id, name, content },
      message,
    ];
  });
}

/** Characters of definitions. */
export function sizeOf(specs: readonly ToolSpec[]): number {
  return specs.reduce((sum, spec) => sum + definitionChars(spec), 0);
}

/** Estimate for metrics. */
export function tokensOf(specs: readonly ToolSpec[]): { readonly tools: number; readonly tokens: number } {
  return { tools: specs.length, tokens: Math.round(sizeOf(specs) / TOOL_CHARS_PER_TOKEN) };
}
