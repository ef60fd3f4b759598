// Markdown → what of it is to be read aloud. Pure.

import { decodeHTML } from "entities/decode";
import type { Token } from "marked";
import { lexer, type MathToken } from "./math-tokens.ts";

type AnyToken = (Token | MathToken) & { readonly tokens?: readonly Token[] | undefined };

/** The words of a text; code, formulas and rules are left out, cells of tables are separated by commas. */
export function speakable(markdown: string): string {
  return lexer(markdown)
    .map(said)
    .filter((text) => text !== "")
    .join("\n\n");
}

function said(token: AnyToken): string {
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
      return token.tokens === undefined ? decodeHTML(textOf(token)) : token.tokens.map(said).join("");
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
  return items.map(({ tokens }) => ended(tokens.map(said).filter(Boolean).join("\n")));
}

function rowsOf(token: AnyToken): readonly string[] {
  const { header = [], rows = [] } = token as {
    readonly header?: readonly Cell[];
    readonly rows?: readonly (readonly Cell[])[];
  };
  return [header, ...rows].map((cells) =>
    ended(cells.map(({ tokens }) => tokens.map(said).join("")).join(", ")),
  );
}

/** A voice pauses at the end of a sentence, not of a line. */
function ended(text: string): string {
  return /[\p{L}\p{N})]$/u.test(text) ? `${text}.` : text;
}
