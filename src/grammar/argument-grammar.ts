// Grammars of a call's arguments: one JSON object, or separate arguments between tags, or values in the family's own
// notation. See answer-grammar.ts.

import { type Arguments, type ArgumentWriter, memberList, textValue } from "./argument-writer.ts";
import { NOTHING } from "./lark.ts";
import { EMPTY, has, literalText, partsOf, type Piece, tagged } from "./peg.ts";
import type { JsonType } from "./schema-shapes.ts";
import { spelledValue } from "./spelled-values.ts";

const ARG = "tool-arg";
const NESTED = ["tool-arg-object", "tool-arg-array"] as const;

/** Tags that the grammar uses. */
const KEPT: ReadonlySet<string> = new Set([ARG, "tool-arg-value", "tool-arg-string-value", ...NESTED]);

/** The body of one tool's call. */
export function argumentsOf(writer: ArgumentWriter, call: Piece, tool: Arguments): string {
  const items = opened(call);
  const [only, ...others] = items;
  if (only?.kind === "choice" && others.length === 0)
    return only.items.map((item) => argumentsOf(writer, item, tool)).join(" | ");
  return new CallWriter(writer, tool).call(items);
}

/** A call's pieces, down to its arguments. */
function opened(piece: Piece): readonly Piece[] {
  switch (piece.kind) {
    case "sequence":
      return piece.items.flatMap(opened);
    case "tag":
      return KEPT.has(piece.tag) || isWholeArguments(piece) ? [piece] : opened(piece.item);
    case "rule":
      return opened(piece.item);
    case "characters":
    case "choice":
    case "literal":
    case "repeat":
    case "space":
    case "tight":
    case "until":
    case "value":
    default:
      return [piece];
  }
}

function isWholeArguments(piece: Piece): boolean {
  return (
    piece.kind === "tag" && piece.tag === "tool-args" && !has(piece, ARG) && valueRule(piece) !== undefined
  );
}

/** The rule of the first value within a piece. */
function valueRule(piece: Piece): string | undefined {
  if (piece.kind === "value") return piece.rule;
  for (const part of partsOf(piece)) {
    const rule = valueRule(part);
    if (rule !== undefined) return rule;
  }
  return undefined;
}

class CallWriter {
  private readonly writer: ArgumentWriter;
  private readonly tool: Arguments;

  constructor(writer: ArgumentWriter, tool: Arguments) {
    this.writer = writer;
    this.tool = tool;
  }

  call(items: readonly Piece[]): string {
    const first = items.findIndex((item) => has(item, ARG));
    if (first < 0) {
      const at = items.findIndex(isWholeArguments);
      if (at < 0) return this.writer.sequence(items);
      return this.join(items.slice(0, at), this.whole(items[at] ?? EMPTY), items.slice(at + 1));
    }
    const last = items.findLastIndex((item) => has(item, ARG));
    const region = items.slice(first, last + 1);
    return this.join(items.slice(0, first), this.apart(region), items.slice(last + 1));
  }

  private join(before: readonly Piece[], middle: string, after: readonly Piece[]): string {
    const bodies = [this.writer.sequence(before), middle, this.writer.sequence(after)];
    const said = bodies.filter((body) => body !== NOTHING);
    return said.length === 0 ? NOTHING : said.join(" ");
  }

  /** All arguments as one object. */
  private whole(piece: Piece): string {
    const { source } = this.tool;
    const rule = valueRule(piece) ?? "json";
    if (rule.startsWith("gemma4")) return spelledValue(this.writer, this.tool, [""], "object");
    return this.writer.part({ source, pointers: [""] });
  }

  /** Arguments one by one. */
  private apart(region: readonly Piece[]): string {
    const known = new Map<string, Piece>();
    for (const piece of region.flatMap((item) => tagged(item, ARG))) {
      const [name] = tagged(piece, "tool-arg-name");
      if (name !== undefined) known.set(literalText(name), piece);
    }
    const { schema, source } = this.tool;
    this.writer.leaveOut(source, schema.beyondShapes([""]));
    const separator = separatorOf(region);
    const blank = separator.every(({ kind }) => kind !== "literal");
    const possible = schema
      .orderedShapes([""])
      .filter(({ required }) => [...required].every((name) => known.has(name)));
    const bodies = possible.map((shape) =>
      memberList(this.writer.lark, shape, this.writer.sequence(separator), (name, parts) => {
        const piece = known.get(name);
        return piece === undefined ? undefined : this.argument(opened(partOf(piece)), parts);
      }),
    );
    const body = this.writer.lark.any([...new Set(bodies)]);
    const spaced = blank && separator.length > 0 && schema.alwaysRequired([""]).size === 0;
    return spaced ? `${this.writer.lark.space()} ${body}` : body;
  }

  /** One argument, from its pieces. */
  private argument(items: readonly Piece[], pointers: readonly string[]): string {
    const at = items.findIndex((item) => isValue(item));
    if (at < 0) return this.writer.sequence(items);
    const [piece = EMPTY, ...rest] = items.slice(at);
    const open = this.writer.sequence(items.slice(0, at));
    return [open, this.value(piece, rest, pointers)].filter((body) => body !== NOTHING).join(" ");
  }

  private value(piece: Piece, rest: readonly Piece[], pointers: readonly string[]): string {
    if (NESTED.some((tag) => has(piece, tag))) {
      const close = rest.map(literalText).join("");
      return spelledValue(this.writer, this.tool, pointers, "elements", close);
    }
    if (piece.kind === "choice") return this.alternatives(piece.items, rest, pointers);
    const { source } = this.tool;
    if (has(piece, "tool-arg-string-value")) {
      return textValue(this.writer, this.tool, {
        pointers,
        close: rest.map(literalText).join(""),
        except: "",
      });
    }
    const compact = valueRule(piece)?.startsWith("python") === true ? { compact: true } : {};
    const json = this.writer.part({ source, pointers, ...compact });
    return [json, this.writer.sequence(rest)].filter((body) => body !== NOTHING).join(" ");
  }

  /** A value that may be JSON or text; the parser tries JSON first. */
  private alternatives(items: readonly Piece[], rest: readonly Piece[], pointers: readonly string[]): string {
    const types = this.tool.schema.types(pointers);
    const others = [...types].filter((type) => type !== "string");
    const texts = items.filter((item) => has(item, "tool-arg-string-value"));
    const json = items.find((item) => !has(item, "tool-arg-string-value"));
    const [first, text] = [texts[0], texts.at(-1)];
    const bodies: string[] = [];
    const after = (item: Piece): readonly Piece[] => [...opened(item).slice(valueAt(item) + 1), ...rest];
    if (json !== undefined && (others.length > 0 || text === undefined)) {
      const part = this.writer.part({ source: this.tool.source, pointers, types: others });
      bodies.push([part, this.writer.sequence(after(json))].filter((body) => body !== NOTHING).join(" "));
    }
    if (text !== undefined && (types.has("string") || bodies.length === 0)) {
      const close = after(text).map(literalText).join("");
      const opening = texts.length > 1 && first !== undefined ? literalText(opened(first)[0] ?? EMPTY) : "";
      const except = json === undefined ? beginning(opening) : looksLike(others);
      bodies.push(textValue(this.writer, this.tool, { pointers, close, except }));
    }
    return this.writer.lark.any(bodies);
  }
}

function partOf(piece: Piece): Piece {
  return piece.kind === "tag" ? piece.item : piece;
}

function isValue(piece: Piece): boolean {
  const tags = ["tool-arg-value", "tool-arg-string-value", ...NESTED];
  return tags.some((tag) => has(piece, tag)) || (piece.kind === "choice" && piece.items.some(isValue));
}

function valueAt(piece: Piece): number {
  return opened(piece).findIndex((item) => isValue(item) || item.kind === "until" || item.kind === "value");
}

/** The separator between arguments. */
function separatorOf(region: readonly Piece[]): readonly Piece[] {
  for (const piece of region) {
    if (piece.kind !== "repeat" || piece.max === 1) continue;
    const items = piece.item.kind === "sequence" ? piece.item.items : [piece.item];
    return items.filter((item) => !has(item, ARG));
  }
  return region.filter(({ kind }) => kind === "space").slice(0, 1);
}

/** Regular expression of texts with this prefix; "" for none. */
function beginning(text: string): string {
  return text === ""
    ? ""
    : `${text.replaceAll(/[^A-Za-z0-9 ]/g, (char) => `\\x{${char.charCodeAt(0).toString(16)}}`)}(?s:.*)`;
}

const LOOKS: Readonly<Record<JsonType, string>> = {
  null: "null",
  boolean: "true|false",
  number: "-?[0-9]+(?:\\.[0-9]+)?(?:[eE][+-]?[0-9]+)?",
  string: "",
  array: "\\[(?s:.*)",
  object: "\\{(?s:.*)",
};

/** Regular expression of texts that a parser would read as JSON of some types. */
function looksLike(types: readonly JsonType[]): string {
  const ways = types.map((type) => LOOKS[type]).filter((way) => way !== "");
  return ways.length === 0 ? "" : `[ \\t\\n]*(?:${ways.join("|")})[ \\t\\n]*`;
}
