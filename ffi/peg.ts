// llama.cpp's description of how a model writes its answer: the parser that its chat templates come with, as a tree. Read
// from the JSON of common/peg-parser.cpp. Knows no grammar and no tool.

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

/** What an answer consists of. Sequences do not stand in sequences, alternatives not in alternatives. */
export type Piece =
  | { readonly kind: "literal"; readonly text: string }
  | { readonly kind: "sequence"; readonly items: readonly Piece[] }
  | { readonly kind: "choice"; readonly items: readonly Piece[] }
  /** `max` -1: no bound. */
  | { readonly kind: "repeat"; readonly item: Piece; readonly min: number; readonly max: number }
  /** Text up to one of some strings, which is not part of it; without any, up to the end. */
  | { readonly kind: "until"; readonly delimiters: readonly string[] }
  /** Characters of a class. */
  | { readonly kind: "characters"; readonly pattern: string; readonly min: number; readonly max: number }
  /** Optional white space. */
  | { readonly kind: "space" }
  /** Nothing, but no white space may follow: the parser looks ahead at a tag. */
  | { readonly kind: "tight" }
  /** A value in JSON, or in Python's or a family's own spelling, which `rule` names. */
  | { readonly kind: "value"; readonly rule: string }
  /** What llama.cpp takes the item for: "content", "tool-name", …. */
  | { readonly kind: "tag"; readonly tag: string; readonly item: Piece }
  /** `trigger`: what is held to a grammar as soon as it begins. */
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

/** Pieces one after the other. */
export function sequence(pieces: readonly Piece[]): Piece {
  const items = pieces.flatMap((piece) => (piece.kind === "sequence" ? piece.items : [piece]));
  const [only, ...more] = items;
  return only !== undefined && more.length === 0 ? only : { kind: "sequence", items };
}

/** One of some pieces. */
export function choice(pieces: readonly Piece[]): Piece {
  const items = pieces.flatMap((piece) => (piece.kind === "choice" ? piece.items : [piece]));
  const [only, ...more] = items;
  return only !== undefined && more.length === 0 ? only : { kind: "choice", items };
}

/** The pieces of which one directly consists. */
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

const tagsOf = new WeakMap<Piece, ReadonlySet<string>>();

/** The tags within a piece, its own included. */
function tags(piece: Piece): ReadonlySet<string> {
  const known = tagsOf.get(piece);
  if (known !== undefined) return known;
  const found = new Set(partsOf(piece).flatMap((part) => [...tags(part)]));
  if (piece.kind === "tag") found.add(piece.tag);
  tagsOf.set(piece, found);
  return found;
}

/** Whether something within a piece, or the piece itself, has a tag. */
export function has(piece: Piece, tag: string): boolean {
  return tags(piece).has(tag);
}

/** The text of the literals within a piece. */
export function literalText(piece: Piece): string {
  return piece.kind === "literal" ? piece.text : partsOf(piece).map(literalText).join("");
}

/** Pieces within a piece that have a tag, outermost ones alone. */
export function tagged(piece: Piece, tag: string): readonly Piece[] {
  if (piece.kind === "tag" && piece.tag === tag) return [piece];
  return has(piece, tag) ? partsOf(piece).flatMap((part) => tagged(part, tag)) : [];
}

/** Outermost rules at which a grammar of calls may begin. */
export function triggers(piece: Piece): readonly Piece[] {
  if (piece.kind === "rule" && piece.trigger) return [piece];
  return partsOf(piece).flatMap(triggers);
}

/**
 * A piece made to contain a tag, at the first place that allows it; `once` leaves it out anywhere else. What has the tag and
 * cannot be had is undefined.
 */
export function demand(piece: Piece, tag: string, once: boolean): Piece {
  if (!has(piece, tag)) return piece;
  switch (piece.kind) {
    case "choice":
      return choice(piece.items.filter((item) => has(item, tag)).map((item) => demand(item, tag, once)));
    case "repeat": {
      const item = demand(piece.item, tag, once);
      return { ...piece, item, min: Math.max(1, piece.min), max: once ? 1 : piece.max };
    }
    case "sequence": {
      const first = piece.items.findIndex((item) => has(item, tag));
      return sequence(
        piece.items.flatMap((item, index) => {
          if (index === first) return [demand(item, tag, once)];
          return once && has(item, tag) ? [EMPTY] : [item];
        }),
      );
    }
    case "tag":
      return piece.tag === tag ? piece : { ...piece, item: demand(piece.item, tag, once) };
    case "rule":
      return { ...piece, item: demand(piece.item, tag, once) };
    case "characters":
    case "literal":
    case "space":
    case "tight":
    case "until":
    case "value":
    default:
      return piece;
  }
}

/** A piece without whatever has a tag. `instead`: what takes its place where nothing else can. */
export function without(piece: Piece, tag: string, instead: Piece = EMPTY): Piece {
  if (!has(piece, tag)) return piece;
  switch (piece.kind) {
    case "choice": {
      const rest = piece.items.filter((item) => !has(item, tag));
      return rest.length > 0 ? choice(rest) : choice(piece.items.map((item) => without(item, tag, instead)));
    }
    case "repeat":
      return piece.min === 0 ? instead : { ...piece, item: without(piece.item, tag, instead) };
    case "sequence":
      return sequence(piece.items.map((item) => without(item, tag, instead)));
    case "tag":
      return piece.tag === tag ? instead : { ...piece, item: without(piece.item, tag, instead) };
    case "rule":
      return { ...piece, item: without(piece.item, tag, instead) };
    case "characters":
    case "literal":
    case "space":
    case "tight":
    case "until":
    case "value":
    default:
      return piece;
  }
}

/** A piece without tool calls. */
export function withoutCalls(piece: Piece): Piece {
  if (!has(piece, "tool-name")) return piece;
  switch (piece.kind) {
    case "choice": {
      const rest = piece.items.filter((item) => !has(item, "tool-name"));
      return rest.length > 0 ? choice(rest) : choice(piece.items.map(withoutCalls));
    }
    case "sequence":
      return sequence(piece.items.map(withoutCalls));
    case "repeat":
      return piece.min === 0 ? EMPTY : withoutCalls(piece.item);
    case "rule":
      return piece.trigger ? EMPTY : withoutCalls(piece.item);
    case "characters":
    case "literal":
    case "space":
    case "tag":
    case "tight":
    case "until":
    case "value":
    default:
      return EMPTY;
  }
}
