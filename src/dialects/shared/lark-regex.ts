// Lark grammars as regular expressions, where their rules do not contain themselves: the formats of custom tools, such as patches,
// are of this kind. Names are replaced by what they stand for.

import { LARK_REGEX_CHARS_MAX } from "./limits.ts";

/** Terminals of Lark's common library, as far as formats use them. */
const COMMON: Readonly<Record<string, string>> = {
  CNAME: "[A-Za-z_][A-Za-z0-9_]*",
  DIGIT: "[0-9]",
  ESCAPED_STRING: '"(?:[^"\\\\\\n]|\\\\.)*"',
  FLOAT: "[0-9]+\\.[0-9]+",
  INT: "[0-9]+",
  LETTER: "[A-Za-z]",
  LF: "\\n",
  NEWLINE: "(?:\\r?\\n)+",
  NUMBER: "[0-9]+(?:\\.[0-9]+)?",
  SIGNED_INT: "[+\\-]?[0-9]+",
  SIGNED_NUMBER: "[+\\-]?[0-9]+(?:\\.[0-9]+)?",
  WORD: "[A-Za-z]+",
  WS: "[ \\t\\r\\n]+",
  WS_INLINE: "[ \\t]+",
};

const TOKEN =
  /\s+|\/\/[^\n]*|#[^\n]*|->\s*\w+|"(?:[^"\\\n]|\\.)*"i?|\/(?:[^/\\\n]|\\.)+\/[a-z]*|~\s*\d+(?:\s*\.\.\s*\d+)?|\.\.|[()[\]|?*+]|[?!]?[A-Za-z_]\w*|./gy;
const RULE = /^[?!]?([A-Za-z_]\w*)(?:\.\d+)?\s*:(.*)$/s;

/** What is no regular language, or not understood. */
class Irregular extends Error {}

/** The regular expression of a grammar's `start`; undefined for a grammar that has none, or that is not understood. */
export function larkRegex(grammar: string): string | undefined {
  try {
    const rules = rulesOf(grammar);
    return new Expander(rules).named("start");
  } catch (error) {
    if (error instanceof Irregular) return undefined;
    throw error;
  }
}

/** Bodies by name. A line that does not begin with a name goes on with the rule before it. */
function rulesOf(grammar: string): ReadonlyMap<string, string> {
  const rules = new Map<string, string>();
  const statements = grammar.replaceAll(/^[ \t]*(?:\/\/|#).*$/gm, "").split(/\n(?=[?!%A-Za-z_])/);
  for (const line of statements.map((one) => one.trim())) {
    if (line === "") continue;
    const imported = /^%import\s+common\.(?:(\w+)(?:\s*->\s*(\w+))?|\(([^)]*)\))\s*(?:(?:\/\/|#).*)?$/.exec(
      line,
    );
    if (imported !== null) {
      const names = imported[3]?.split(",").map((one) => one.trim()) ?? [imported[1] ?? ""];
      for (const name of names) rules.set(imported[2] ?? name, `/${common(name)}/`);
      continue;
    }
    const [, name, body] = RULE.exec(line) ?? [];
    if (name === undefined || body === undefined) throw new Irregular();
    rules.set(name, body);
  }
  return rules;
}

function common(name: string): string {
  const regex = COMMON[name];
  if (regex === undefined) throw new Irregular();
  return regex.replaceAll("/", "\\/");
}

class Expander {
  private readonly rules: ReadonlyMap<string, string>;
  private readonly done = new Map<string, string>();
  private readonly open = new Set<string>();

  constructor(rules: ReadonlyMap<string, string>) {
    this.rules = rules;
  }

  named(name: string): string {
    const known = this.done.get(name);
    if (known !== undefined) return known;
    const body = this.rules.get(name);
    if (body === undefined || this.open.has(name)) throw new Irregular();
    this.open.add(name);
    const tokens = tokensOf(body);
    const regex = this.choice(tokens);
    if (tokens.length > 0 || regex.length > LARK_REGEX_CHARS_MAX) throw new Irregular();
    this.open.delete(name);
    this.done.set(name, regex);
    return regex;
  }

  /** Consumes tokens up to a closing bracket. */
  private choice(tokens: string[]): string {
    const ways: string[] = [];
    let way = "";
    for (let token = tokens[0]; token !== undefined && token !== ")" && token !== "]"; token = tokens[0]) {
      tokens.shift();
      if (token === "|") {
        ways.push(way);
        way = "";
      } else if (!token.startsWith("->")) way += this.item(token, tokens);
    }
    ways.push(way);
    return ways.length === 1 ? way : `(?:${ways.join("|")})`;
  }

  private item(token: string, tokens: string[]): string {
    const atom = this.atom(token, tokens);
    const next = tokens[0] ?? "";
    const times = /^~\s*(\d+)(?:\s*\.\.\s*(\d+))?$/.exec(next);
    if (!/^[?*+]$/.test(next) && times === null) return atom;
    tokens.shift();
    const [, least, most] = times ?? [];
    const bounds = most === undefined ? `{${least}}` : `{${least},${most}}`;
    return `(?:${atom})${times === null ? next : bounds}`;
  }

  private atom(token: string, tokens: string[]): string {
    if (token === "(" || token === "[") {
      const inner = this.choice(tokens);
      if (tokens.shift() !== (token === "(" ? ")" : "]")) throw new Irregular();
      return token === "(" ? `(?:${inner})` : `(?:${inner})?`;
    }
    if (token.startsWith('"')) return this.range(textOf(token), tokens);
    if (/^\/.+\/$/.test(token)) return `(?:${token.slice(1, -1).replaceAll("\\/", "/")})`;
    if (/^\w+$/.test(token)) return `(?:${this.named(token)})`;
    throw new Irregular();
  }

  /** A text, or the characters from it to another one. */
  private range(from: string, tokens: string[]): string {
    if (tokens[0] !== "..") return escaped(from);
    const [, to = ""] = tokens.splice(0, 2);
    const end = textOf(to);
    if (!/^.$/su.test(from) || !/^.$/su.test(end)) throw new Irregular();
    return `[${escaped(from)}-${escaped(end)}]`;
  }
}

function tokensOf(body: string): string[] {
  return [...body.matchAll(TOKEN)].map(([token]) => token).filter((token) => !/^(?:\s|\/\/|#)/.test(token));
}

function textOf(token: string): string {
  if (!/^"(?:[^"\\]|\\.)*"$/s.test(token)) throw new Irregular(); // with a flag, or no text
  try {
    return String(JSON.parse(token));
  } catch {
    throw new Irregular();
  }
}

/** The regular expression of a text. */
export function escaped(text: string): string {
  const named: Readonly<Record<string, string>> = { "\n": "\\n", "\r": "\\r", "\t": "\\t" };
  return text.replaceAll(/[\n\r\t]|[.*+?^${}()|[\]\\/-]/g, (char) => named[char] ?? `\\${char}`);
}
