// The parser that llama.cpp derives from a chat template, as a tree: it describes the format of answers. Read from the JSON
// of common/peg-parser.cpp. Knows neither grammars nor tools.

/** A node of the JSON. */
interface Node {
  readonly type: string;
  readonly literal?: string;
  readonly children?: readonly number[];
  readonly child?: number;
  readonly min_count?: number;
  readonly max_count?: number;
  readonly delimiters?: readonly string[];
  readonly delimiter?: string;
  readonly pattern?: string;
  readonly name?: string;
  readonly tag?: string;
  readonly trigger?: boolean;
}

interface Arena {
  readonly parsers: readonly Node[];
  readonly rules: Readonly<Record<string, number>>;
  readonly root: number;
}

/** A piece of an answer. Sequences and alternatives are not nested in their own kind. */
export type Piece =
  | { readonly kind: "literal"; readonly text: string }
  | { readonly kind: "sequence"; readonly items: readonly Piece[] }
  | { readonly kind: "choice"; readonly items: readonly Piece[] }
  /** `max` -1: no bound. */
  | { readonly kind: "repeat"; readonly item: Piece; readonly min: number; readonly max: number }
  /** Text up to and excluding one of some strings; without strings, up to the end. */
  | { readonly kind: "until"; readonly delimiters: readonly string[] }
  /** Characters of a class. */
  | { readonly kind: "characters"; readonly pattern: string; readonly min: number; readonly max: number }
  /** Optional white space. */
  | { readonly kind: "space" }
  /** Matches nothing; no white space may follow, because the parser looks ahead at a tag. */
  | { readonly kind: "tight" }
  /** A value in JSON, or in Python's or a family's own notation, which `rule` names. */
  | { readonly kind: "value"; readonly rule: string }
  /** llama.cpp's meaning of the item: "content", "tool-name", …. */
  | { readonly kind: "tag"; readonly tag: string; readonly item: Piece }
  /** `trigger`: constrained by a grammar from its beginning on. */
  | { readonly kind: "rule"; readonly name: string; readonly trigger: boolean; readonly item: Piece };

export const EMPTY: Piece = { kind: "sequence", items: [] };

/** Rules of values, which refer to each other. */
const VALUE_RULE = /^(?:json|python|python-or-json|gemma4)(?:-|$)/;

/** The tree of an answer. Throws when the JSON has another form. */
export function readPeg(text: string): Piece {
  const arena: Arena = JSON.parse(text);
  const known = new Map<number, Piece>();
  const read = (id: number): Piece => {
    const before = known.get(id);
    if (before !== undefined) return before;
    const node = arena.parsers[id];
    if (node === undefined) throw new Error(`the parser has no node ${id}`);
    const piece = pieceOf(node, read, arena);
    known.set(id, piece);
    return piece;
  };
  return read(arena.root);
}

function pieceOf(node: Node, read: (id: number) => Piece, arena: Arena): Piece {
  const child = (): Piece => (node.child === undefined ? EMPTY : read(node.child));
  const children = (): Piece[] => (node.children ?? []).map(read);
  switch (node.type) {
    case "literal":
      return node.literal === undefined || node.literal === ""
        ? EMPTY
        : { kind: "literal", text: node.literal };
    case "sequence":
      return sequence(children());
    case "choice":
      return choice(children());
    case "repetition":
      return { kind: "repeat", item: child(), min: node.min_count ?? 0, max: node.max_count ?? -1 };
    case "until":
      return { kind: "until", delimiters: node.delimiters ?? [] };
    case "any":
      return { kind: "characters", pattern: "(?s:.)", min: 1, max: 1 };
    case "chars":
      return {
        kind: "characters",
        pattern: node.pattern ?? "",
        min: node.min_count ?? 1,
        max: node.max_count ?? -1,
      };
    case "string":
      return { kind: "characters", pattern: `[^${node.delimiter ?? '"'}\\\\\\x00-\\x1f]`, min: 0, max: -1 };
    case "space":
      return { kind: "space" };
    case "schema":
      return { kind: "value", rule: "json" };
    case "rule":
    case "ref": {
      const name = node.name ?? "";
      if (VALUE_RULE.test(name)) return { kind: "value", rule: name };
      if (node.type === "ref") return read(arena.rules[name] ?? -1);
      return { kind: "rule", name, trigger: node.trigger === true, item: child() };
    }
    case "tag":
      return { kind: "tag", tag: node.tag ?? "", item: child() };
    case "and":
      return beginsTight(child()) ? { kind: "tight" } : EMPTY;
    case "atomic":
    case "gbnf":
    case "ac":
      return child();
    default: // epsilon, start, end; what must not follow, which consumes nothing
      return EMPTY;
  }
}

function beginsTight(piece: Piece): boolean {
  const [first = EMPTY] = piece.kind === "sequence" ? piece.items : [piece];
  return first.kind === "literal" && first.text.trimStart() === first.text;
}

/** Whether no white space may follow a piece. */
export function endsTight(piece: Piece): boolean {
  switch (piece.kind) {
    case "tight":
      return true;
    case "choice":
      return piece.items.length > 0 && piece.items.every(endsTight);
    case "sequence": {
      const last = piece.items.at(-1);
      return last !== undefined && endsTight(last);
    }
    case "tag":
    case "rule":
      return endsTight(piece.item);
    case "characters":
    case "literal":
    case "repeat":
    case "space":
    case "until":
    case "value":
    default:
      return false;
  }
}

/** A sequence of pieces. */
function sequence(pieces: readonly Piece[]): Piece {
  const items = pieces.flatMap((piece) => (piece.kind === "sequence" ? piece.items : [piece]));
  const [only, ...more] = items;
  return only !== undefined && more.length === 0 ? only : { kind: "sequence", items };
}

/** Alternative pieces. */
export function choice(pieces: readonly Piece[]): Piece {
  const items = pieces.flatMap((piece) => (piece.kind === "choice" ? piece.items : [piece]));
  const [only, ...more] = items;
  return only !== undefined && more.length === 0 ? only : { kind: "choice", items };
}

/** Direct parts of a piece. */
export function partsOf(piece: Piece): readonly Piece[] {
  switch (piece.kind) {
    case "sequence":
    case "choice":
      return piece.items;
    case "repeat":
    case "tag":
    case "rule":
      return [piece.item];
    case "characters":
    case "literal":
    case "space":
    case "tight":
    case "until":
    case "value":
    default:
      return [];
  }
}

/** Maps the direct parts of a piece. The piece itself if none of them changes: what is known of it stays known. */
export function withParts(piece: Piece, change: (part: Piece) => Piece): Piece {
  if (piece.kind === "sequence" || piece.kind === "choice") return withItems(piece, piece.items.map(change));
  if (piece.kind !== "repeat" && piece.kind !== "rule" && piece.kind !== "tag") return piece;
  const item = change(piece.item);
  return item === piece.item ? piece : { ...piece, item };
}

/** A sequence or choice with other items; the piece itself if they are its own. */
export function withItems(
  piece: Extract<Piece, { kind: "sequence" | "choice" }>,
  items: readonly Piece[],
): Piece {
  const isSame = items.length === piece.items.length && items.every((item, i) => item === piece.items[i]);
  if (isSame) return piece;
  return piece.kind === "sequence" ? sequence(items) : choice(items);
}

const tagsOf = new WeakMap<Piece, ReadonlySet<string>>();
const NO_TAGS: ReadonlySet<string> = new Set();

/** The tags within a piece, its own included. A parser for 1,000 tools has 30,000 pieces: most share the set of a part. */
function tags(piece: Piece): ReadonlySet<string> {
  const parts = partsOf(piece);
  if (parts.length === 0) return NO_TAGS; // a tag has a part
  const known = tagsOf.get(piece);
  if (known !== undefined) return known;
  let found = NO_TAGS;
  for (const part of parts) found = union(found, tags(part));
  if (piece.kind === "tag") found = union(found, new Set([piece.tag]));
  tagsOf.set(piece, found);
  return found;
}

function union(a: ReadonlySet<string>, b: ReadonlySet<string>): ReadonlySet<string> {
  if (a === b || b.isSubsetOf(a)) return a;
  return a.isSubsetOf(b) ? b : a.union(b);
}

/** Whether something within a piece, or the piece itself, has a tag. */
export function has(piece: Piece, tag: string): boolean {
  return tags(piece).has(tag);
}

/** The text of the literals within a piece. */
export function literalText(piece: Piece): string {
  return piece.kind === "literal" ? piece.text : partsOf(piece).map(literalText).join("");
}

/** Outermost pieces within a piece that have a tag. */
export function tagged(piece: Piece, tag: string): readonly Piece[] {
  if (piece.kind === "tag" && piece.tag === tag) return [piece];
  return has(piece, tag) ? partsOf(piece).flatMap((part) => tagged(part, tag)) : [];
}

/** The text of all pieces within a piece that have a tag; undefined if there are none, or they differ. */
export function textOf(piece: Piece, tag: string): string | undefined {
  const texts = new Set<string>();
  const collect = (part: Piece): void => {
    if (texts.size > 1 || !has(part, tag)) return;
    if (part.kind === "tag" && part.tag === tag) texts.add(literalText(part));
    else for (const inner of partsOf(part)) collect(inner);
  };
  collect(piece);
  const [text] = texts;
  return texts.size === 1 ? text : undefined;
}

/** Outermost rules at which a grammar of calls may begin. */
export function triggers(piece: Piece): readonly Piece[] {
  if (piece.kind === "rule" && piece.trigger) return [piece];
  return partsOf(piece).flatMap(triggers);
}

/**
 * Whether content has markup of its own after `written`, the template's beginning of the answer. Content that is just the
 * rest of the answer, with or without reasoning before it, has none.
 */
export function framesContent(piece: Piece, written: string): boolean {
  const contents = tagged(piece, "content");
  if (required(piece) > 1) return false; // not a format that models are trained on
  const ends = contents.some((one) => partsOf(one).some(endsAtMarkup));
  if (ends) return true;
  const rest = strip([piece], written) ?? [];
  return rest.find(({ kind }) => kind !== "space")?.kind === "literal";
}

/** How often content occurs at least. */
function required(piece: Piece): number {
  if (piece.kind === "tag" && piece.tag === "content") return 1;
  return piece.kind === "sequence" || piece.kind === "rule" || piece.kind === "tag"
    ? partsOf(piece).reduce((sum, part) => sum + required(part), 0)
    : 0;
}

function endsAtMarkup(piece: Piece): boolean {
  return piece.kind === "until" ? piece.delimiters.length > 0 : partsOf(piece).some(endsAtMarkup);
}

/** The rest of pieces after removing a text from their beginning; undefined if they need not begin with it. */
export function strip(pieces: readonly Piece[], text: string): readonly Piece[] | undefined {
  if (text === "") return pieces;
  const [first, ...more] = pieces;
  if (first === undefined) return undefined;
  switch (first.kind) {
    case "literal": {
      if (first.text.startsWith(text)) {
        const rest = first.text.slice(text.length);
        return rest === "" ? more : [{ kind: "literal", text: rest }, ...more];
      }
      return text.startsWith(first.text) ? strip(more, text.slice(first.text.length)) : undefined;
    }
    case "space":
      return strip(more, text);
    case "sequence":
    case "tag":
    case "rule":
      return strip([...partsOf(first), ...more], text);
    case "repeat":
      return strip([first.item, ...more], text) ?? (first.min === 0 ? strip(more, text) : undefined);
    case "choice":
      for (const item of first.items) {
        const rest = strip([item, ...more], text);
        if (rest !== undefined) return rest;
      }
      return undefined;
    case "characters":
    case "tight":
    case "until":
    case "value":
    default:
      return undefined;
  }
}
