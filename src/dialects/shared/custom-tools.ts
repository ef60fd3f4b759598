// Tools that take one text instead of arguments. The model sees a function with one string, held to the tool's format; its calls
// are given back as those of the tool that was declared.

import { type Static, Type } from "@sinclair/typebox";
import type { Compat } from "../../core/compat.ts";
import { isObject } from "../../core/json.ts";
import type { ToolCall } from "../../core/message.ts";
import { TOOL_NAME_CHARS_MAX } from "../../core/limits.ts";
import { OPEN, orNull } from "../../core/schema-fields.ts";
import { isPresent } from "./check.ts";
import { larkRegex } from "./lark-regex.ts";
import { CUSTOM_FORMAT_CHARS_MAX } from "./limits.ts";
import type { FlatTool } from "./tools.ts";

/** The argument of the function that the model sees. */
const INPUT = "input";

const grammarProperties = {
  syntax: Type.Union([Type.Literal("lark"), Type.Literal("regex")], {
    description: "Language of the grammar.",
  }),
  definition: Type.String({ description: "The grammar.", minLength: 1, maxLength: CUSTOM_FORMAT_CHARS_MAX }),
};

const Format = Type.Union(
  [
    Type.Object({ type: Type.Literal("text") }, OPEN),
    Type.Object(
      {
        type: Type.Literal("grammar"),
        ...grammarProperties,
        grammar: Type.Optional(Type.Null({ description: "The grammar, in the nested form." })),
      },
      OPEN,
    ),
    Type.Object(
      {
        type: Type.Literal("grammar"),
        grammar: Type.Object(grammarProperties, { description: "The grammar, in the nested form.", ...OPEN }),
      },
      OPEN,
    ),
  ],
  { $id: "CustomToolFormat", description: "What the tool takes: any text, or one of a grammar." },
);

const properties = {
  name: Type.String({ description: "Name of the tool.", minLength: 1, maxLength: TOOL_NAME_CHARS_MAX }),
  description: orNull(Type.String({ description: "What the tool does and when to call it." })),
  format: orNull(Format),
};
const description = "A tool of the client that takes one text.";

/** A custom tool of Responses. */
export const CustomTool = Type.Object(
  {
    type: Type.Literal("custom"),
    ...properties,
    custom: Type.Optional(Type.Null({ description: "Absent in this form." })),
  },
  { $id: "CustomTool", description, ...OPEN },
);
/** A custom tool of chat completions. */
export const NestedCustomTool = Type.Object(
  { type: Type.Literal("custom"), custom: Type.Object(properties, { description: "The tool.", ...OPEN }) },
  { $id: "NestedCustomTool", description, ...OPEN },
);
export type CustomTool = Static<typeof CustomTool> | Static<typeof NestedCustomTool>;

/** Name of a custom tool in either form. */
export function customName(tool: CustomTool): string {
  return (tool.custom ?? tool).name;
}

/**
 * The function that stands for a custom tool. A grammar that is not understood is not enforced; one that nests is, to a depth. Both
 * are reported; the model reads the grammar in the description.
 */
export function customFunction(tool: CustomTool, compat: Compat): Static<typeof FlatTool> {
  const { name, description: about, format } = tool.custom ?? tool;
  const sent = format?.type === "grammar" ? (format.grammar ?? format) : undefined;
  const lark = sent?.syntax === "lark" ? larkRegex(sent.definition) : undefined;
  const regex = sent?.syntax === "lark" ? lark?.regex : sent?.definition;
  if (sent?.syntax === "lark" && lark?.isWhole !== true) compat.note("custom_format", name);
  const told =
    sent === undefined ? [] : [`The input follows this ${sent.syntax} grammar:\n${sent.definition}`];
  const text = [...(isPresent(about) && about !== "" ? [about] : []), ...told].join("\n\n");
  const input = { type: "string", ...(regex === undefined ? {} : { pattern: `^(?:${jsRegex(regex)})$` }) };
  return {
    type: "function",
    name,
    ...(text === "" ? {} : { description: text }),
    parameters: {
      type: "object",
      properties: { [INPUT]: input },
      required: [INPUT],
      additionalProperties: false,
    },
    strict: regex !== undefined,
  };
}

/** A pattern of a schema, whose groups are named as in JavaScript: formats name them as Python and Rust do. */
function jsRegex(regex: string): string {
  return regex.replaceAll(/\\.|\[(?:\\.|[^\]\\])*\]|\(\?P</gs, (part) => (part === "(?P<" ? "(?<" : part));
}

/** Words of other servers for a tool choice, alone or as its type. */
const CHOICE_WORDS: ReadonlyMap<unknown, string> = new Map([
  ["any", "required"],
  ["auto", "auto"],
  ["none", "none"],
  ["required", "required"],
]);

/**
 * A tool choice in which custom tools are chosen like functions, and words of other servers are those of this one. Runs before the
 * schema check.
 */
export function usualChoice(choice: unknown): unknown {
  if (!isObject(choice)) return CHOICE_WORDS.get(choice) ?? choice;
  const { type, custom, tools, allowed_tools: nested } = choice;
  const word = CHOICE_WORDS.get(type);
  if (word !== undefined) return word;
  if (type === "custom") {
    const { custom: _, ...rest } = choice;
    return { ...rest, type: "function", ...(isObject(custom) ? { name: custom["name"] } : {}) };
  }
  if (type !== "allowed_tools") return choice;
  if (Array.isArray(tools)) return { ...choice, tools: tools.map(usualChoice) };
  if (!isObject(nested) || !Array.isArray(nested["tools"])) return choice;
  return { ...choice, allowed_tools: { ...nested, tools: nested["tools"].map(usualChoice) } };
}

/** The call of a custom tool as the model sees it. */
export function customCall(call: {
  readonly call_id: string;
  readonly name: string;
  readonly input: string;
}): ToolCall {
  const { call_id: id, name, input } = call;
  return { id, name, arguments: JSON.stringify({ [INPUT]: input }) };
}

/** What may become the opening. */
const PART_OF_OPENING = /^\s*(?:\{\s*(?:"(?:i(?:n(?:p(?:u(?:t)?)?)?)?)?|"input"\s*:?\s*)?)?$/;
const OPENING = /^\s*\{\s*"input"\s*:\s*"/;
const ESCAPES: Readonly<Record<string, string>> = { n: "\n", t: "\t", r: "\r", b: "\b", f: "\f" };

/**
 * Reads the text out of the arguments of a call, delta by delta. Arguments of another form, which a model of an upstream may write,
 * are the text themselves.
 */
export class CustomInput {
  private rest = "";
  private state: "opening" | "text" | "raw" | "done" = "opening";

  /** The text that a delta completes. */
  add(delta: string): string {
    this.rest += delta;
    if (this.state === "opening") {
      const opening = OPENING.exec(this.rest);
      if (opening === null && PART_OF_OPENING.test(this.rest)) return "";
      this.rest = this.rest.slice(opening?.[0].length ?? 0);
      this.state = opening === null ? "raw" : "text";
    }
    if (this.state === "raw") {
      const { rest } = this;
      this.rest = "";
      return rest;
    }
    return this.state === "text" ? this.take() : "";
  }

  private take(): string {
    const { rest } = this;
    let text = "";
    let at = 0;
    while (at < rest.length) {
      const plain = /^[^"\\\uD800-\uDBFF]+/.exec(rest.slice(at))?.[0];
      if (plain !== undefined) {
        text += plain;
        at += plain.length;
        continue;
      }
      if (rest[at] === '"') {
        this.state = "done";
        break;
      }
      const unit = this.unit(at);
      if (unit === undefined) break; // the next delta completes it
      text += unit.text;
      at += unit.length;
    }
    this.rest = rest.slice(at);
    return text;
  }

  /** An escape, or a pair of surrogates; undefined while it is incomplete. */
  private unit(at: number): { readonly text: string; readonly length: number } | undefined {
    const { rest } = this;
    if (rest[at] !== "\\")
      return at + 1 < rest.length ? { text: rest.slice(at, at + 2), length: 2 } : undefined;
    const kind = rest[at + 1];
    if (kind === undefined) return undefined;
    if (kind !== "u") return { text: ESCAPES[kind] ?? kind, length: 2 };
    const pair = /^\\u[dD][89abAB][0-9a-fA-F]{2}/.test(rest.slice(at, at + 6)) ? 12 : 6;
    const escaped = rest.slice(at, at + pair);
    if (escaped.length < pair) return undefined;
    const units = [...escaped.matchAll(/\\u([0-9a-fA-F]{4})/g)].map(([, hex = ""]) => parseInt(hex, 16));
    return { text: String.fromCharCode(...units), length: pair };
  }
}
