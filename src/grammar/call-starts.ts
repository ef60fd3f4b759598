// Where calls begin in an answer: at an opener of the format (a tag, a brace) that is followed by what the format requires up to a
// tool's name; where nothing stands between the two, by the first letter of a declared name. An opener that something else follows
// is text that talks about calls.

import type { CallStart, CallStarts } from "../worker/text/backend.ts";
import { has, literalText, partsOf, type Piece, strip, tagged } from "./peg.ts";

/** llama.cpp's analysis of a template writes calls with such ids, and takes one of a form that it does not know for markup. */
const SAMPLE_ID = /call0000\d/;
/** What models write in place of such an id. */
const ANY_ID = /[^<>\s]{1,64}/y;
/** A value before a tool's name, such as an id: a string or a number. */
const VALUE = /"(?:[^"\\]|\\.)*"|-?\d+/y;
const FENCE = "```";
/** The first piece of markup: a tag, or what stands before white space. */
const MARKUP = /^(?:<[^<>\s]*>|\[[^[\]\s]*\]|\S+?(?=\s|"|$))/;

const PROSE: CallStart = { type: "prose" };
const OPEN: CallStart = { type: "open" };

/** A place in the text and, up to there, the text as the format writes it. `name`: where the tool's name begins, once it has. */
interface Place {
  readonly at: number;
  readonly written: string;
  readonly name?: number;
}

type Then = (place: Place) => CallStart;

/**
 * The beginnings of calls in a format. `markers`: texts with which calls begin, or seem to; none if a grammar holds from the answer's
 * beginning on. `end`: closes reasoning.
 */
export function callStarts(
  root: Piece,
  markers: readonly string[],
  { required, end }: { readonly required: boolean; readonly end: string },
): CallStarts {
  const pieces = callPieces(root);
  let openers: readonly string[] = markers.map(opening);
  const judge = (text: string): CallStart => {
    const isBegun = openers.some((one) => text.startsWith(one));
    const head = new Head(text, isBegun ? (MARKUP.exec(text)?.[0].length ?? 0) : text.length);
    return best(
      pieces.map((piece) => () => head.match(piece, { at: 0, written: "" }, (at) => head.ended(at))),
    );
  };
  const delimiters = markers.length === 0 ? [] : tagged(root, "content").flatMap(delimitersOf);
  const begins = delimiters.filter((text) => text.trimStart() === text && judge(text.trimEnd()) !== PROSE);
  openers = [...new Set([...openers, ...begins.map((text) => text.trimEnd())])];
  const fenced = pieces.some((piece) => literalText(piece).includes(FENCE));
  return { openers, judge, fenced, required, framed: closesContent(root, end.trim()) };
}

/** What a marker begins with up to white space, of which models write more or less. */
function opening(marker: string): string {
  const text = marker.trimEnd();
  return /\s/.test(text) ? (MARKUP.exec(text)?.[0] ?? text) : text;
}

/** Whether text, too, ends with the tag that closes reasoning. */
function closesContent(piece: Piece, end: string): boolean {
  if (end === "" || !has(piece, "content")) return false;
  const parts = partsOf(piece);
  const isClosed = (part: Piece, index: number): boolean =>
    has(part, "content") && !has(part, "reasoning") && strip(parts.slice(index + 1), end) !== undefined;
  return (
    (piece.kind === "sequence" && parts.some(isClosed)) || parts.some((part) => closesContent(part, end))
  );
}

/** The outermost pieces of calls without text. */
function callPieces(piece: Piece): readonly Piece[] {
  if (!has(piece, "tool-name")) return [];
  return has(piece, "content") || has(piece, "reasoning") ? partsOf(piece).flatMap(callPieces) : [piece];
}

function delimitersOf(piece: Piece): readonly string[] {
  return piece.kind === "until" ? piece.delimiters : partsOf(piece).flatMap(delimitersOf);
}

/** The first result that is a call; else one that may become one. */
function best(tries: readonly (() => CallStart)[]): CallStart {
  let found = PROSE;
  for (const attempt of tries) {
    const result = attempt();
    if (result.type === "call") return result;
    if (result.type === "open") found = result;
  }
  return found;
}

/** Matches a text that may be the beginning of a call. White space between markup does not count. */
class Head {
  private readonly text: string;
  private readonly openerEnd: number;

  /** `openerEnd`: length of the first piece of markup of the opener that the text begins with. */
  constructor(text: string, openerEnd: number) {
    this.text = text;
    this.openerEnd = openerEnd;
  }

  /** The verdict where the markup of a call has ended. */
  ended({ name, written }: Place): CallStart {
    return name === undefined ? PROSE : { type: "call", text: written + this.text.slice(name) };
  }

  match(piece: Piece, place: Place, then: Then): CallStart {
    switch (piece.kind) {
      case "literal":
        return this.literal(piece.text, place, then);
      case "sequence":
        return this.sequence(piece.items, place, then);
      case "choice":
        return best(piece.items.map((item) => () => this.match(item, place, then)));
      case "repeat":
        return this.repeat(piece, place, then);
      case "tag":
        return piece.tag === "tool-name"
          ? this.name(literalText(piece), place, then)
          : this.match(piece.item, place, then);
      case "rule":
        return this.match(piece.item, place, then);
      case "space":
      case "tight":
        return then(place);
      case "characters":
      case "until":
      case "value":
      default:
        return place.name === undefined ? this.free(piece, place, then) : this.ended(place);
    }
  }

  private sequence(items: readonly Piece[], place: Place, then: Then): CallStart {
    const from = (index: number, here: Place): CallStart => {
      const item = items[index];
      return item === undefined ? then(here) : this.match(item, here, (next) => from(index + 1, next));
    };
    return from(0, place);
  }

  private repeat(
    { item, min, max }: Extract<Piece, { kind: "repeat" }>,
    place: Place,
    then: Then,
    done = 0,
  ): CallStart {
    const again = (next: Place): CallStart =>
      next.at === place.at ? PROSE : this.repeat({ kind: "repeat", item, min, max }, next, then, done + 1);
    const more = (): CallStart => (max >= 0 && done >= max ? PROSE : this.match(item, place, again));
    return best(done >= min ? [more, () => then(place)] : [more]);
  }

  private literal(literal: string, place: Place, then: Then): CallStart {
    if (SAMPLE_ID.test(literal) && place.name === undefined) return this.sampleId(literal, place, then);
    const { text } = this;
    let { at } = place;
    for (const word of literal.split(/\s+/).filter((part) => part !== "")) {
      if (at > 0) at = this.skip(at);
      const rest = text.slice(at, at + word.length);
      if (!word.startsWith(rest)) return PROSE;
      if (rest.length < word.length) return place.name === undefined ? OPEN : this.ended(place);
      at += word.length;
    }
    return place.name === undefined
      ? then({ ...place, at, written: place.written + literal })
      : this.ended(place);
  }

  private sampleId(literal: string, place: Place, then: Then): CallStart {
    const [id = ""] = SAMPLE_ID.exec(literal) ?? [];
    const [before = "", after = ""] = literal.split(id);
    return this.literal(before, place, (here) => {
      ANY_ID.lastIndex = here.at;
      const [found] = ANY_ID.exec(this.text) ?? [];
      const at = here.at + (found?.length ?? 0);
      if (at >= this.text.length) return OPEN;
      return found === undefined
        ? PROSE
        : this.literal(after, { ...here, at, written: here.written + id }, then);
    });
  }

  private name(name: string, place: Place, then: Then): CallStart {
    const at = this.skip(place.at);
    const rest = this.text.slice(at);
    // Behind more than the opener a call has begun: from here on the grammar writes a declared name, which small models misspell.
    if (rest === "")
      return place.at > this.openerEnd ? { type: "call", text: place.written, isUnnamed: true } : OPEN;
    const named = { ...place, at: at + name.length, name: at };
    if (rest.length <= name.length) return name.startsWith(rest) ? this.ended(named) : PROSE;
    return rest.startsWith(name) ? then(named) : PROSE;
  }

  /** Text of which only the end or the characters are known. */
  private free(piece: Piece, place: Place, then: Then): CallStart {
    const { text } = this;
    const at = this.skip(place.at);
    if (at >= text.length) return OPEN;
    const ends = piece.kind === "until" ? this.ends(piece.delimiters, at) : this.matched(piece, at);
    const onward = (end: number) => () =>
      then({ ...place, at: end, written: place.written + text.slice(at, end) });
    return ends.length === 0 && piece.kind === "until" ? OPEN : best(ends.map(onward));
  }

  private ends(delimiters: readonly string[], from: number): readonly number[] {
    const found = delimiters.map((delimiter) => this.text.indexOf(delimiter, from)).filter((at) => at >= 0);
    return found.length === 0 ? [] : [Math.min(...found)];
  }

  /** Where a value, or a run of characters, may end. */
  private matched(piece: Piece, from: number): readonly number[] {
    const pattern = piece.kind === "characters" ? new RegExp(`${piece.pattern}+`, "yu") : VALUE;
    pattern.lastIndex = from;
    const [found] = pattern.exec(this.text) ?? [];
    if (found !== undefined) return [from + found.length];
    return piece.kind === "value" && this.text[from] === '"' ? [this.text.length] : [];
  }

  private skip(from: number): number {
    let at = from;
    while (at < this.text.length && /\s/.test(this.text.charAt(at))) at++;
    return at;
  }
}
