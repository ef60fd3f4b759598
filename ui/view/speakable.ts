// Converts Markdown to text for speech. Pure.

import { decodeHTML } from "entities/decode";
import type { Token } from "marked";
import { lexer, type MathToken } from "./math-tokens.ts";

type AnyToken = (Token | MathToken) & { readonly tokens?: readonly Token[] | undefined };

/** Text of a Markdown source, without code, formulas and rules; table cells are separated by commas. */
export function speakable(markdown: string): string {
  return lexer(markdown)
    .map(speechOf)
    .filter((text) => text !== "")
    .join("\n\n");
}

function speechOf(token: AnyToken): string {
  switch (token.type) {
    case "code":
    case "hr":
    case "def":
    case "html":
    case "math":
    case "space":
      return "";
    case "br":
      return " ";
    case "codespan":
    case "escape":
      return textOf(token);
    case "list":
      return itemsOf(token).join("\n");
    case "table":
      return rowsOf(token).join("\n");
    default:
      return token.tokens === undefined ? decodeHTML(textOf(token)) : token.tokens.map(speechOf).join("");
  }
}

function textOf(token: AnyToken): string {
  return "text" in token && typeof token.text === "string" ? token.text : token.raw;
}

interface Cell {
  readonly tokens: readonly Token[];
}

function itemsOf(token: AnyToken): readonly string[] {
  const { items = [] } = token as { readonly items?: readonly Cell[] };
  return items.map(({ tokens }) => ended(tokens.map(speechOf).filter(Boolean).join("\n")));
}

function rowsOf(token: AnyToken): readonly string[] {
  const { header = [], rows = [] } = token as {
    readonly header?: readonly Cell[];
    readonly rows?: readonly (readonly Cell[])[];
  };
  return [header, ...rows].map((cells) =>
    ended(cells.map(({ tokens }) => tokens.map(speechOf).join("")).join(", ")),
  );
}

/** Adds a full stop: voices pause at the end of a sentence, not of a line. */
function ended(text: string): string {
  return /[\p{L}\p{N})]$/u.test(text) ? `${text}.` : text;
}
