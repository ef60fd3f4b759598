// Answers cut down to what a request allows: with calls, without them, without reasoning. Knows no grammar and no tool.

import { choice, EMPTY, has, partsOf, type Piece, sequence } from "./peg.ts";

export const SPACE: Piece = { kind: "space" };

/** Whether something can be written that is free of a tag. */
function canAvoid(piece: Piece, tag: string): boolean {
  if (!has(piece, tag)) return true;
  const isAvoided = (part: Piece): boolean => canAvoid(part, tag);
  switch (piece.kind) {
    case "choice":
      return piece.items.some(isAvoided);
    case "repeat":
      return piece.min === 0 || isAvoided(piece.item);
    case "tag":
      return piece.tag !== tag && isAvoided(piece.item);
    case "characters":
    case "literal":
    case "rule":
    case "sequence":
    case "space":
    case "tight":
    case "until":
    case "value":
    default:
      return partsOf(piece).every(isAvoided);
  }
}

/**
 * A piece made to contain a tag, at the first place that is always written, else at the first that may be; `once` leaves it out
 * anywhere else. What has the tag and cannot be had is undefined.
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
      const isAlways = (item: Piece): boolean =>
        has(item, tag) && !(item.kind === "repeat" && item.min === 0);
      const always = piece.items.findIndex(isAlways);
      const place = always < 0 ? piece.items.findIndex((item) => has(item, tag)) : always;
      return sequence(
        piece.items.map((item, index) => {
          if (index === place) return demand(item, tag, once);
          return once ? without(item, tag) : item;
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
      const free = piece.items.filter((item) => canAvoid(item, tag));
      const rest = free.length > 0 ? free : piece.items;
      return choice(rest.map((item) => without(item, tag, instead)));
    }
    case "repeat":
      return piece.min === 0 && !canAvoid(piece.item, tag)
        ? instead
        : { ...piece, item: without(piece.item, tag, instead) };
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

/** Calls without text beside them. */
export function noText(piece: Piece): Piece {
  if (!has(piece, "content")) return piece;
  switch (piece.kind) {
    case "choice": {
      const bare = piece.items.some((item) => has(item, "tool-name") && !has(item, "content"));
      const calls = piece.items.filter(
        (item) => !has(item, "content") || (has(item, "tool-name") && !(bare && announcesText(item))),
      );
      return choice((calls.length > 0 ? calls : piece.items).map(noText));
    }
    case "sequence":
      return sequence(piece.items.map(noText));
    case "rule":
      return { ...piece, item: noText(piece.item) };
    case "tag":
      return piece.tag === "content" ? SPACE : { ...piece, item: noText(piece.item) };
    case "characters":
    case "literal":
    case "repeat":
    case "space":
    case "tight":
    case "until":
    case "value":
    default:
      return without(piece, "content", SPACE);
  }
}

/** Whether text of the answer stands behind markup of its own, which is not left out with it. */
function announcesText(piece: Piece): boolean {
  if (piece.kind !== "sequence") return false;
  const at = piece.items.findIndex((item) => item.kind === "tag" && item.tag === "content");
  return at > 0 && piece.items[at - 1]?.kind === "literal";
}

/** A piece without text that the parser skips. */
export function withoutSkipped(piece: Piece): Piece {
  switch (piece.kind) {
    case "until":
      return EMPTY;
    case "choice":
      return choice(piece.items.map(withoutSkipped));
    case "sequence":
      return sequence(piece.items.map(withoutSkipped));
    case "repeat":
    case "rule":
      return { ...piece, item: withoutSkipped(piece.item) };
    case "characters":
    case "literal":
    case "space":
    case "tag":
    case "tight":
    case "value":
    default:
      return piece;
  }
}
