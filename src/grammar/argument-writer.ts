// Common parts of argument grammars: members in order, and text up to a tag. See argument-grammar.ts.

import type { AnswerPart } from "../worker/text/constraint-backend.ts";
import { type LarkWriter, NOTHING } from "./lark.ts";
import type { Piece } from "./peg.ts";
import type { Schema, Shape } from "./schema-shapes.ts";

/** Context of argument grammars. */
export interface ArgumentWriter {
  readonly lark: LarkWriter;
  part(part: Omit<AnswerPart, "rule">): string;
  body(piece: Piece): string;
  sequence(items: readonly Piece[]): string;
  /** Collects keywords that the grammar does not enforce. */
  leaveOut(source: number, pointers: readonly string[]): void;
}

/** A tool's schema, and its number among the sources. */
export interface Arguments {
  readonly source: number;
  readonly schema: Schema;
}

/** Members in order: the required ones, and any of the others. */
export function memberList(
  lark: LarkWriter,
  { members, required }: Shape,
  separator: string,
  write: (name: string, pointers: readonly string[]) => string | undefined,
): string {
  const separated = separator === NOTHING ? "" : `${separator} `;
  // From the last member on: what may follow after another member, and what may come first.
  let [later, first] = [NOTHING, NOTHING];
  for (const [name, pointers] of [...members].toReversed()) {
    const member = write(name, pointers);
    if (member === undefined) continue;
    const rule = lark.rule(member);
    const then = later === NOTHING ? "" : ` ${later}`;
    const [here, next] = [`${rule}${then}`, `${separated}${rule}${then}`];
    const skipped = required.has(name) ? [] : [later];
    const skippedFirst = required.has(name) ? [] : [first];
    later = lark.rule([next, ...skipped].join(" | "));
    first = lark.rule([here, ...skippedFirst].join(" | "));
  }
  return first;
}

/** A text with its schema and its end. */
interface TextValue {
  readonly pointers: readonly string[];
  readonly close: string;
  /** Regular expression of texts that would be parsed as something else. */
  readonly except: string;
}

/** A raw string up to its end. */
export function textValue(
  writer: Pick<ArgumentWriter, "lark" | "part">,
  { source, schema }: Arguments,
  { pointers, close, except }: TextValue,
): string {
  const { lark } = writer;
  if (except === "" && schema.isAnyText(pointers)) return lark.textUntil(close, []);
  const end = lark.tailOf(close);
  const rule = writer.part({ source, pointers, text: { avoid: end === "" ? [close] : [], end, except } });
  const rest = lark.literal(close.slice(end.length));
  return rest === NOTHING ? rule : `${rule} ${rest}`;
}
