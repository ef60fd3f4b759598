// Grammars of values in a family's own notation, under a JSON schema: Gemma 4 writes names without quotes and strings between
// tokens, MiniMax M3 writes members and items as elements. See argument-grammar.ts.

import { keywordsWhere } from "../core/schema-keywords.ts";
import { type Arguments, type ArgumentWriter, memberList, textValue } from "./argument-writer.ts";
import { NOTHING } from "./lark.ts";
import { below, type JsonType } from "./schema-shapes.ts";

/** Maximum nesting of objects and arrays. */
const DEPTH_MAX = 12;
/** Prefix of every tag of MiniMax M3. */
const ELEMENT = "]<]minimax[>[";
/** Encloses strings of Gemma 4. */
const QUOTE = '<|"|>';
/** Names that Gemma 4's format can write. */
const PLAIN_NAME = /^[^:}]+$/;

const SCALARS: readonly JsonType[] = ["number", "boolean", "null"];

/** Array keywords that these grammars do not enforce. */
const ARRAY_KEYWORDS = keywordsWhere(({ judgesArrays }) => judgesArrays === true);
const LITERALS = ["const", "enum"] as const;

/** A value. "object": an object of Gemma 4; "elements": a value of MiniMax M3, and the tag that closes it. */
export function spelledValue(
  writer: ArgumentWriter,
  tool: Arguments,
  pointers: readonly string[],
  spelling: "object" | "elements",
  close = "",
): string {
  const speller = new Speller(writer, tool);
  return spelling === "object" ? speller.object(pointers, 0) : speller.element(pointers, close, 0);
}

class Speller {
  private readonly writer: ArgumentWriter;
  private readonly tool: Arguments;

  constructor(writer: ArgumentWriter, tool: Arguments) {
    this.writer = writer;
    this.tool = tool;
  }

  /** `{name:value,…}` */
  object(pointers: readonly string[], depth: number): string {
    const { lark } = this.writer;
    const { schema, source } = this.tool;
    this.writer.leaveOut(source, schema.beyondShapes(pointers));
    const shapes = schema.shapes(pointers);
    const bare = shapes.every(({ members }) => members.size === 0);
    if (bare && depth > 0) {
      this.noteFree(pointers);
      return this.anyObject();
    }
    const bodies = shapes.map((shape) => {
      const list = memberList(lark, shape, `"," ${lark.space()}`, (name, parts) =>
        PLAIN_NAME.test(name) ? `${lark.literal(`${name}:`)} ${this.value(parts, depth + 1)}` : undefined,
      );
      return list === NOTHING ? '"{" "}"' : `"{" ${list} "}"`;
    });
    return lark.any([...new Set(bodies)]);
  }

  private value(pointers: readonly string[], depth: number): string {
    const { lark } = this.writer;
    const { schema, source } = this.tool;
    const types = depth > DEPTH_MAX ? new Set<JsonType>() : schema.types(pointers);
    if (types.size === 0) return this.anyValue();
    const bodies: string[] = [];
    if (types.has("string"))
      bodies.push(
        `${lark.literal(QUOTE)} ${textValue(this.writer, this.tool, { pointers, close: QUOTE, except: "" })}`,
      );
    const scalars = SCALARS.filter((type) => types.has(type));
    if (scalars.length > 0) bodies.push(this.writer.part({ source, pointers, types: scalars }));
    if (types.has("object")) bodies.push(this.object(pointers, depth));
    if (types.has("array")) bodies.push(this.array(pointers, depth));
    if (types.has("object") || types.has("array")) this.noteLiterals(pointers);
    return lark.rule(bodies.join(" | "));
  }

  private array(pointers: readonly string[], depth: number): string {
    const { lark } = this.writer;
    const items = this.tool.schema.items(pointers);
    const item = lark.rule(items.length === 0 ? this.anyValue() : this.value(items, depth + 1));
    const { least, most } = this.counts(pointers);
    const more = `("," ${lark.space()} ${item})`;
    const bound =
      most === undefined
        ? `{${Math.max(0, least - 1)},}`
        : `{${Math.max(0, least - 1)},${Math.max(0, most - 1)}}`;
    if (most === 0) return '"[" "]"';
    const list = `${item} ${more}${bound}`;
    return least > 0 ? `"[" ${list} "]"` : `"[" (${list})? "]"`;
  }

  private counts(pointers: readonly string[]): { readonly least: number; readonly most: number | undefined } {
    const { schema, source } = this.tool;
    let [least, most]: [number, number | undefined] = [0, undefined];
    for (const pointer of schema.shapes(pointers)[0]?.pointers ?? pointers) {
      const node = schema.at(pointer);
      if (typeof node !== "object" || node === null) continue;
      const [from, to]: unknown[] = [Reflect.get(node, "minItems"), Reflect.get(node, "maxItems")];
      if (typeof from === "number") least = Math.max(least, from);
      if (typeof to === "number") most = Math.min(most ?? to, to);
      const unsaid = ARRAY_KEYWORDS.filter(
        (keyword) => ![undefined, false].includes(Reflect.get(node, keyword)),
      );
      this.writer.leaveOut(
        source,
        unsaid.map((keyword) => below(pointer, keyword)),
      );
    }
    return { least, most };
  }

  /** An object without declared members; constraints on its members are not enforced. */
  private noteFree(pointers: readonly string[]): void {
    const { schema, source } = this.tool;
    for (const pointer of pointers) {
      const node = schema.at(pointer);
      const rest: unknown =
        typeof node === "object" && node !== null ? Reflect.get(node, "additionalProperties") : true;
      if (rest !== undefined && rest !== true)
        this.writer.leaveOut(source, [below(pointer, "additionalProperties")]);
    }
  }

  private noteLiterals(pointers: readonly string[]): void {
    const { schema, source } = this.tool;
    for (const pointer of pointers) {
      const node = schema.at(pointer);
      if (typeof node !== "object" || node === null) continue;
      const said = LITERALS.filter((keyword) => Object.hasOwn(node, keyword));
      this.writer.leaveOut(
        source,
        said.map((keyword) => below(pointer, keyword)),
      );
    }
  }

  private anyObject(): string {
    this.anyValue();
    return "any_object";
  }

  private anyValue(): string {
    const { lark } = this.writer;
    if (lark.once("any_value")) {
      const text = `${lark.literal(QUOTE)} ${lark.textUntil(QUOTE, [])}`;
      const more = `"," ${lark.space()}`;
      lark.define("any_value", `${text} | any_scalar | any_object | any_array`);
      lark.define("any_scalar", '%json {"type":["null","boolean","integer"]}');
      lark.define("any_member", '/[A-Za-z_][A-Za-z0-9_]{0,63}/ ":" any_value');
      lark.define("any_object", `"{" (any_member (${more} any_member)*)? "}"`);
      lark.define("any_array", `"[" (any_value (${more} any_value)*)? "]"`);
    }
    return "any_value";
  }

  /** A value of MiniMax M3 with the tag that closes it. */
  element(pointers: readonly string[], close: string, depth: number): string {
    const { lark } = this.writer;
    const { schema, source } = this.tool;
    const types = schema.types(pointers);
    if (types.has("string")) return textValue(this.writer, this.tool, { pointers, close, except: "" });
    const [only, ...others] = types;
    const end = `${lark.space()} ${lark.literal(close)}`;
    const shapes =
      only === "object" && others.length === 0 && depth < DEPTH_MAX ? schema.orderedShapes(pointers) : [];
    if (shapes.some(({ members }) => members.size > 0)) {
      this.writer.leaveOut(source, schema.beyondShapes(pointers));
      const bodies = shapes.map((shape) =>
        memberList(lark, shape, lark.space(), (name, parts) => {
          const open = lark.literal(`${ELEMENT}<${name}>`);
          return `${open} ${this.element(parts, `${ELEMENT}</${name}>`, depth + 1)}`;
        }),
      );
      return `${lark.any([...new Set(bodies)])} ${end}`;
    }
    const items = schema.items(pointers);
    if (only === "array" && others.length === 0 && items.length > 0 && depth < DEPTH_MAX) {
      const { least, most } = this.counts(pointers);
      const open = lark.literal(`${ELEMENT}<item>`);
      const item = lark.rule(
        `${lark.space()} ${open} ${this.element(items, `${ELEMENT}</item>`, depth + 1)}`,
      );
      return `${item}{${least},${most ?? ""}} ${end}`;
    }
    return `${this.writer.part({ source, pointers })} ${lark.literal(close)}`;
  }
}
