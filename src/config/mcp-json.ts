// Reads a JSON file as editors write it: with a byte order mark, comments and trailing commas. Uses jsonc-parser, the reader of
// Visual Studio Code, because Bun's own names no place of a fault.

import { parse, type ParseError, printParseErrorCode } from "jsonc-parser";

export type JsonRead =
  | { readonly ok: true; readonly value: unknown }
  /** Where the first fault is, counted from 1, and what it is. */
  | { readonly ok: false; readonly line: number; readonly column: number; readonly fault: string };

/** The value of a text. */
export function readJson(text: string): JsonRead {
  const bare = text.replace(/^\uFEFF/, "");
  const errors: ParseError[] = [];
  const value: unknown = parse(bare, errors, { allowTrailingComma: true, disallowComments: false });
  const [first] = errors;
  if (first === undefined) return { ok: true, value };
  const lines = bare.slice(0, first.offset).split("\n");
  // `CommaExpected` → `comma expected`
  const fault = printParseErrorCode(first.error).replaceAll(/(?!^)[A-Z]/g, (letter) => ` ${letter}`);
  return {
    ok: false,
    line: lines.length,
    column: (lines.at(-1) ?? "").length + 1,
    fault: fault.toLowerCase(),
  };
}
