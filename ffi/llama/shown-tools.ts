// Whether a template shows the tools that are offered, found out by rendering short conversations. Some write and read calls and leave the
// tools to the caller's system message: what a request offers would be lost. There the system message describes them, with a call as the
// template writes it.

import type { Message } from "../../src/core/message.ts";

const NAME = "function_name";
const TOOLS = JSON.stringify([
  {
    type: "function",
    function: { name: NAME, description: "", parameters: { type: "object", properties: {} } },
  },
]);
const QUESTION = { role: "user", content: "Hi" };
/** Begins like no call. */
const WORDS = "Quite so";
const SAID = { role: "assistant", content: WORDS };
const CALLED = {
  role: "assistant",
  content: "",
  tool_calls: [
    { id: "call00001", type: "function", function: { name: NAME, arguments: '{"argument": "value"}' } },
  ],
};

/** The text of a rendered request; undefined if it cannot be rendered. */
type TextOf = (request: object) => string | undefined;

/** `shown`: by the template. An example of a call: they are to be described with it. `unknown`: nor does it show how calls are written. */
export type ToolsShown =
  | { readonly type: "shown" | "unknown" }
  | { readonly type: "example"; readonly call: string };

/** What is known of one template. */
export class ShownTools {
  private readonly textOf: TextOf;
  private readonly known = new Map<boolean, ToolsShown>(); // by whether there is a system message, beside which some show them

  constructor(textOf: TextOf) {
    this.textOf = textOf;
  }

  /** How tools come into the prompt of a conversation with these messages. */
  of(messages: readonly Message[]): ToolsShown {
    const isOrdered = messages.some(({ role }) => role === "system" || role === "developer");
    const known = this.known.get(isOrdered) ?? this.found(isOrdered);
    this.known.set(isOrdered, known);
    return known;
  }

  private found(isOrdered: boolean): ToolsShown {
    const order = isOrdered ? [{ role: "system", content: "Be terse." }] : [];
    const text = (...more: readonly object[]): string | undefined =>
      this.textOf({
        messages: [...order, QUESTION, ...more],
        enable_thinking: true,
        kwargs: {},
        tools: TOOLS,
        template_tools: TOOLS,
      });
    // A template that fails with this tool may show others: then the request itself decides.
    if (text()?.includes(NAME) !== false) return { type: "shown" };
    const call = callIn(text(CALLED) ?? "", text(SAID) ?? "");
    return call.includes(NAME) ? { type: "example", call } : { type: "unknown" };
  }
}

/** The call of a conversation: what follows that which it has in common with one that ends in words, up to the mark that ends a turn. */
function callIn(called: string, said: string): string {
  const at = said.lastIndexOf(WORDS);
  if (at < 0 || called.slice(0, at) !== said.slice(0, at)) return "";
  const [, mark] = /^\s*([^\s>\]]+[>\]]?)/.exec(said.slice(at + WORDS.length)) ?? [];
  const call = called.slice(at);
  const end = mark === undefined ? -1 : call.indexOf(mark, call.indexOf(NAME));
  return (end < 0 ? call : call.slice(0, end)).trim();
}
