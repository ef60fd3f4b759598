// Restricts answers to what a request allows: with tool calls, without them, without reasoning. Knows neither grammars nor
// tools.

import { choice, EMPTY, has, partsOf, type Piece, withItems, withParts } from "./peg.ts";

export const SPACE: Piece = { kind: "space" };

/** Whether a piece can match text without a tag. */
function canAvoid(piece: Piece, tag: string): boolean {
  if (!has(piece, tag)) return true;
  if (piece.kind === "tag" && piece.tag === tag) return false;
  if (piece.kind === "repeat" && piece.min === 0) return true;
  const isAvoided = (part: Piece): boolean => canAvoid(part, tag);
  return piece.kind === "choice" ? piece.items.some(isAvoided) : partsOf(piece).every(isAvoided);
}

/**
 * Requires a tag in a piece: at the first position that always matches, else at the first that may; `once` removes it
 * elsewhere. undefined if the piece cannot match then.
 */
export function requireTag(piece: Piece, tag: string, once: boolean): Piece {
  if (!has(piece, tag) || (piece.kind === "tag" && piece.tag === tag)) return piece;
  const inner = (part: Piece): Piece => requireTag(part, tag, once);
  if (piece.kind === "choice")
    return withItems(piece, piece.items.filter((item) => has(item, tag)).map(inner));
  if (piece.kind === "repeat")
    return { ...piece, item: inner(piece.item), min: Math.max(1, piece.min), max: once ? 1 : piece.max };
  if (piece.kind !== "sequence") return withParts(piece, inner);
  const isAlways = (item: Piece): boolean => has(item, tag) && !(item.kind === "repeat" && item.min === 0);
  const always = piece.items.findIndex(isAlways);
  const place = always < 0 ? piece.items.findIndex((item) => has(item, tag)) : always;
  const items = piece.items.map((item, index) => {
    if (index === place) return inner(item);
    return once ? without(item, tag) : item;
  });
  return withItems(piece, items);
}

/** A piece without parts that have a tag. `instead`: the replacement where nothing else can match. */
export function without(piece: Piece, tag: string, instead: Piece = EMPTY): Piece {
  if (!has(piece, tag)) return piece;
  if (piece.kind === "tag" && piece.tag === tag) return instead;
  if (piece.kind === "repeat" && piece.min === 0 && !canAvoid(piece.item, tag)) return instead;
  const inner = (part: Piece): Piece => without(part, tag, instead);
  const free = piece.kind === "choice" ? piece.items.filter((item) => canAvoid(item, tag)) : [];
  return free.length > 0 ? choice(free.map(inner)) : withParts(piece, inner);
}

/** A piece without tool calls. */
export function withoutCalls(piece: Piece): Piece {
  if (!has(piece, "tool-name")) return piece;
  if (piece.kind === "tag") return EMPTY;
  if (piece.kind === "repeat") return piece.min === 0 ? EMPTY : withoutCalls(piece.item);
  if (piece.kind === "rule") {
    const isCall = piece.trigger || (!has(piece, "content") && !has(piece, "reasoning"));
    return isCall ? EMPTY : withoutCalls(piece.item);
  }
  const free = piece.kind === "choice" ? piece.items.filter((item) => !has(item, "tool-name")) : [];
  return free.length > 0 ? choice(free) : withParts(piece, withoutCalls);
}

/** Tool calls without text around them. */
export function noText(piece: Piece): Piece {
  if (!has(piece, "content")) return piece;
  if (piece.kind === "tag" && piece.tag === "content") return SPACE;
  if (piece.kind === "repeat") return without(piece, "content", SPACE);
  if (piece.kind !== "choice") return withParts(piece, noText);
  const bare = piece.items.some((item) => has(item, "tool-name") && !has(item, "content"));
  const calls = piece.items.filter(
    (item) => !has(item, "content") || (has(item, "tool-name") && !(bare && announcesText(item))),
  );
  return choice((calls.length > 0 ? calls : piece.items).map(noText));
}

/** Whether the answer's text has markup of its own that stays without the text. */
function announcesText(piece: Piece): boolean {
  if (piece.kind !== "sequence") return false;
  const at = piece.items.findIndex((item) => item.kind === "tag" && item.tag === "content");
  return at > 0 && piece.items[at - 1]?.kind === "literal";
}

/** A piece without text that the parser skips. */
export function withoutSkipped(piece: Piece): Piece {
  if (piece.kind === "until") return EMPTY;
  return piece.kind === "tag" ? piece : withParts(piece, withoutSkipped);
}
