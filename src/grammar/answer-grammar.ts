// Builds the grammar of an answer with tool calls, for any model family: llama.cpp's description of the family's format
// (peg.ts), with the arguments of calls replaced by the tools' schemas. ffi/constraint compiles the schemas, and knows which
// keywords can be enforced.
//
// Arguments follow the order of the schema: required ones always, optional ones maybe, unknown ones never.
// An optional call is constrained from its marker on, so that text costs no masks. Formats without a fixed marker and required calls are
// constrained from the first token on, bare JSON calls from the name of a tool on.

import type { ToolSpec } from "../core/message.ts";
import type { AnswerConstraint, AnswerPart, AnswerSource } from "../worker/text/constraint-backend.ts";
import { argumentsOf } from "./argument-grammar.ts";
import type { Arguments, ArgumentWriter } from "./argument-writer.ts";
import { LarkWriter, NOTHING } from "./lark.ts";
import type { Markup } from "./lark.ts";
import { requireTag, noText, SPACE, without, withoutCalls, withoutSkipped } from "./peg-edit.ts";
import { EMPTY, endsTight, has, type Piece, readPeg, strip, textOf, triggers } from "./peg.ts";
import { closedIfEmpty } from "./rewritten-schemas.ts";
import { Schema } from "./schema-shapes.ts";

/** What an answer may contain. */
export interface AnswerRules {
  readonly tools: readonly ToolSpec[];
  /** A call must be made. */
  readonly required: boolean;
  /** At most one call. */
  readonly single: boolean;
  /** The answer may begin with reasoning. */
  readonly reasons: boolean;
  /** The schema of the content; absent: any content. */
  readonly content?: AnswerSource;
}

/** Inputs of a grammar besides the rules. */
export interface AnswerFormat {
  /** JSON of llama.cpp's parser. */
  readonly peg: string;
  /** The beginning of the answer that the template wrote. */
  readonly prefix: string;
  readonly markup: Markup;
}

/** Schemas of values other than arguments, such as ids. */
const VALUES: Readonly<Record<string, string>> = {
  "json-number": '{"type":"integer","minimum":0,"maximum":999999}',
  "json-string": '{"type":"string","minLength":1,"maxLength":64}',
};

/** Maximum length of free text in a call's markup, such as an id. */
const FREE_MARKUP_MAX = 64;

/** llama.cpp's rule of one tool's call begins so, its name follows. */
const TOOL_RULE = "tool-";

/** The grammar of whole answers. */
export function answerGrammar(format: AnswerFormat, rules: AnswerRules): AnswerConstraint {
  const root = readPeg(format.peg);
  const held = rules.reasons ? root : without(root, "reasoning", SPACE);
  const calls = (): Piece => withoutSkipped(noText(requireTag(held, "tool-name", rules.single)));
  const content = (): Piece => withoutSkipped(requireTag(withoutCalls(held), "content", true));
  const offered = rules.tools.length === 0 ? [] : [calls()];
  const pieces = rules.required ? offered : rules.content === undefined ? [held] : [content(), ...offered];
  return written(new Builder(format.markup, rules), pieces, format.prefix);
}

/** The grammar of calls only, from the first call's marker on. */
export function callGrammar(
  { peg, markup }: Pick<AnswerFormat, "peg" | "markup">,
  { tools, single }: Pick<AnswerRules, "tools" | "single">,
): AnswerConstraint {
  const found = triggers(readPeg(peg)).filter((piece) => has(piece, "tool-name"));
  const pieces = found.map((piece) => requireTag(piece, "tool-name", single));
  return written(new Builder(markup, { tools, single }), pieces, "");
}

function written(builder: Builder, pieces: readonly Piece[], prefix: string): AnswerConstraint {
  const starts = pieces.map((piece) => builder.body(piece));
  return {
    type: "answer",
    grammar: builder.lark.text(starts.map((start) => `(${start})`).join(" | ")),
    parts: builder.parts,
    sources: builder.sources,
    prefix,
    unenforced: [...builder.unenforced].sort(),
    tags: [...builder.lark.tags],
  };
}

class Builder implements ArgumentWriter {
  readonly lark: LarkWriter;
  readonly parts: AnswerPart[] = [];
  readonly sources: AnswerSource[];
  readonly unenforced = new Set<string>();
  private readonly tools = new Map<string, Arguments>();
  private readonly partRules = new Map<string, string>();
  private readonly single: boolean;
  private readonly content: number | undefined;
  private readonly bodies = new Map<Piece, string>(); // of rules and calls

  constructor(markup: Markup, { tools, single, content }: Pick<AnswerRules, "tools" | "single" | "content">) {
    this.lark = new LarkWriter(markup);
    this.single = single;
    this.sources = tools.map(({ name, parameters, strict }) => ({
      schema: closedIfEmpty(parameters),
      strict,
      at: `tools.${name}`,
    }));
    tools.forEach(({ name }, source) => {
      const schema = this.sources[source]?.schema ?? {};
      this.tools.set(name, { source, schema: new Schema(schema) });
    });
    this.content = content === undefined ? undefined : this.sources.push(content) - 1;
  }

  /** The rule of a value; equal values share one. */
  part(part: Omit<AnswerPart, "rule">): string {
    const key = JSON.stringify(part);
    const known = this.partRules.get(key);
    if (known !== undefined) return known;
    const rule = this.lark.newName();
    this.partRules.set(key, rule);
    this.parts.push({ rule, ...part });
    return rule;
  }

  leaveOut(source: number, pointers: readonly string[]): void {
    for (const pointer of pointers) this.unenforced.add(`${this.sources[source]?.at ?? ""}${pointer}`);
  }

  body(piece: Piece): string {
    const known = this.bodies.get(piece); // formats repeat the choice among all tools
    if (known !== undefined) return known;
    const tool = this.toolOf(piece);
    if (tool !== undefined) return this.noted(piece, this.call(piece, tool));
    switch (piece.kind) {
      case "sequence":
        return this.sequence(piece.items);
      case "choice":
        return this.lark.any([...new Set(piece.items.map((item) => this.body(item)))]);
      case "repeat":
        return this.repeat(piece);
      case "rule":
        return this.noted(piece, this.lark.rule(this.body(piece.item)));
      case "tag":
        return piece.tag === "content" && this.content !== undefined
          ? this.json(this.content)
          : this.body(piece.item);
      case "characters":
      case "literal":
      case "space":
      case "tight":
      case "until":
      case "value":
      default:
        return this.leaf(piece);
    }
  }

  private noted(piece: Piece, body: string): string {
    this.bodies.set(piece, body);
    return body;
  }

  private json(source: number): string {
    return this.part({ source, pointers: [""] });
  }

  private leaf(piece: Piece): string {
    switch (piece.kind) {
      case "literal":
        return this.lark.literal(piece.text);
      case "until":
        return this.lark.textUntil("", piece.delimiters);
      case "characters": {
        const most = piece.max < 0 ? FREE_MARKUP_MAX : piece.max;
        return this.lark.rule(`/${piece.pattern.replaceAll("/", "\\/")}{${piece.min},${most}}/`);
      }
      case "space":
        return this.lark.space();
      case "value":
        return this.lark.rule(`%json ${VALUES[piece.rule] ?? "{}"}`);
      case "choice":
      case "repeat":
      case "rule":
      case "sequence":
      case "tag":
      case "tight":
      default:
        return NOTHING;
    }
  }

  private repeat({ item, min, max }: Extract<Piece, { kind: "repeat" }>): string {
    const body = this.body(item);
    if (body === NOTHING) return NOTHING;
    const most = this.single && has(item, "tool-name") ? 1 : max;
    const name = this.lark.rule(body);
    if (min === 1 && most === 1) return name;
    if (most < 0) return min === 0 ? `${name}*` : min === 1 ? `${name}+` : `${name}{${min},}`;
    return min === 0 && most === 1 ? `${name}?` : `${name}{${min},${most}}`;
  }

  /** Text and its end tag are one terminal: a lexer within a text does not recognize a separate tag. */
  sequence(items: readonly Piece[]): string {
    const bodies: string[] = [];
    const kept = this.content === undefined ? CALL_TAGS : [...CALL_TAGS, "content"];
    let rest: readonly Piece[] = items.flatMap((item) => flat(item, kept));
    while (rest.length > 0) {
      const [piece = EMPTY, ...after] = rest;
      const more = endsTight(piece) ? afterSpace(after) : after;
      rest = more;
      const ended = piece.kind === "repeat" ? this.optionalText(piece, more, kept) : undefined;
      if (ended !== undefined) {
        bodies.push(ended.body);
        rest = ended.rest;
        continue;
      }
      if (piece.kind !== "until") {
        bodies.push(this.body(piece));
        continue;
      }
      const end = endOf(piece.delimiters, more);
      if (end === undefined) {
        bodies.push(this.lark.textUntil("", piece.delimiters));
        continue;
      }
      const others = piece.delimiters.filter((delimiter) => delimiter !== end.close);
      bodies.push(this.lark.textUntil(end.close, others));
      rest = end.rest;
    }
    const said = bodies.filter((body) => body !== NOTHING);
    return said.length === 0 ? NOTHING : said.join(" ");
  }

  /** Optional text whose end tag is there in any case: with the tag, or the tag alone. */
  private optionalText(
    { item, min, max }: Extract<Piece, { kind: "repeat" }>,
    after: readonly Piece[],
    kept: readonly string[],
  ): { readonly body: string; readonly rest: readonly Piece[] } | undefined {
    const parts = flat(item, kept);
    const last = parts.at(-1);
    if (min !== 0 || max !== 1 || last?.kind !== "until") return undefined;
    const end = endOf(last.delimiters, after);
    if (end === undefined) return undefined;
    const close: Piece = { kind: "literal", text: end.close };
    const body = this.lark.any([this.sequence([...parts, close]), this.sequence([close])]);
    return { body, rest: end.rest };
  }

  /** The tool of a piece that contains one whole call. */
  private toolOf(piece: Piece): Arguments | undefined {
    if (piece.kind !== "rule" && !(piece.kind === "tag" && piece.tag === "tool")) return undefined;
    if (piece.kind === "rule" && !piece.name.includes(TOOL_RULE)) return undefined;
    const name = textOf(piece, "tool-name");
    if (name === undefined) return undefined;
    const isCall =
      piece.kind === "tag" || piece.name.endsWith(`${TOOL_RULE}${name.replaceAll(/[^A-Za-z0-9-]+/g, "-")}`);
    return isCall ? this.tools.get(name) : undefined;
  }

  private call(piece: Piece, tool: Arguments): string {
    const [inner = EMPTY] = piece.kind === "rule" || piece.kind === "tag" ? [piece.item] : [];
    return this.lark.rule(argumentsOf(this, inner, tool));
  }
}

/** Tags of pieces of calls that are written otherwise than the pieces within. */
const CALL_TAGS = ["tool", "tool-args", "tool-arg", "tool-arg-value", "tool-arg-string-value"];

/** Flattens sequences, rules and semantic tags but those that are kept. */
function flat(piece: Piece, kept: readonly string[]): readonly Piece[] {
  if (piece.kind === "sequence") return piece.items.flatMap((item) => flat(item, kept));
  if (piece.kind === "rule" && !has(piece, "tool-name")) return flat(piece.item, kept);
  return piece.kind === "tag" && !kept.includes(piece.tag) ? flat(piece.item, kept) : [piece];
}

function afterSpace(pieces: readonly Piece[]): readonly Piece[] {
  const first = pieces.findIndex(({ kind }) => kind !== "space");
  return first < 0 ? [] : pieces.slice(first);
}

/** The delimiter that the pieces after a text begin with, and the rest of these pieces. */
function endOf(
  delimiters: readonly string[],
  after: readonly Piece[],
): { readonly close: string; readonly rest: readonly Piece[] } | undefined {
  for (const close of delimiters) {
    const rest = strip(after, close);
    if (rest !== undefined) return { close, rest };
  }
  return undefined;
}
