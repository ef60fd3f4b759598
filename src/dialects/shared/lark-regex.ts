// Lark grammars as regular expressions: the formats of custom tools. Names are replaced by what they stand for. A rule that begins or
// ends with itself is a repetition; one that contains itself elsewhere is nested as deep as the expression may be long: all that
// matches is of the grammar, but not all of the grammar matches.
// A grammar of the escaped text would need every terminal rewritten for each format of calls.

import { LARK_DEPTH_MAX, LARK_NESTED_CHARS_MAX, LARK_REGEX_CHARS_MAX, LARK_STEPS_MAX } from "./limits.ts";

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

/** What is not understood. */
class Unknown extends Error {}
/** More than a regular expression may have. */
class TooLarge extends Error {}

export interface LarkRegex {
  readonly regex: string;
  /** Whether it matches all that the grammar does: nothing is nested in itself. */
  readonly isWhole: boolean;
}

/** The regular expression of a grammar's `start`; undefined for a grammar that has none, or that is not understood. */
export function larkRegex(grammar: string): LarkRegex | undefined {
  try {
    const rules = rulesOf(grammar);
    for (let depth = LARK_DEPTH_MAX; depth >= 0; depth--) {
      const found = expanded(rules, depth);
      if (found !== undefined) return found;
    }
    return undefined;
  } catch (error) {
    if (error instanceof Unknown) return undefined;
    throw error;
  }
}

/** `start` with rules nested in themselves up to `depth`; undefined if that is too large, or not deep enough for any text. */
function expanded(rules: ReadonlyMap<string, string>, depth: number): LarkRegex | undefined {
  try {
    const expander = new Expander(rules, depth);
    const regex = expander.named("start");
    const isWhole = expander.cuts === 0;
    if (regex === undefined || (!isWhole && regex.length > LARK_NESTED_CHARS_MAX)) return undefined;
    return { regex, isWhole };
  } catch (error) {
    if (error instanceof TooLarge) return undefined;
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
    if (name === undefined || body === undefined) throw new Unknown();
    rules.set(name, body);
  }
  return rules;
}

function common(name: string): string {
  const regex = COMMON[name];
  if (regex === undefined) throw new Unknown();
  return regex.replaceAll("/", "\\/");
}

/** Tokens of a way, without what names it. */
type Way = readonly string[];

/** What cannot be matched, because it is nested too deep, is undefined. */
class Expander {
  /** Times that something was nested too deep. */
  cuts = 0;
  private readonly rules: ReadonlyMap<string, string>;
  private readonly depth: number;
  private readonly done = new Map<string, string>();
  private readonly open = new Map<string, number>();
  private steps = 0;

  constructor(rules: ReadonlyMap<string, string>, depth: number) {
    this.rules = rules;
    this.depth = depth;
  }

  named(name: string): string | undefined {
    const known = this.done.get(name);
    if (known !== undefined) return known;
    const body = this.rules.get(name);
    if (body === undefined) throw new Unknown();
    if (++this.steps > LARK_STEPS_MAX) throw new TooLarge();
    const nested = this.open.get(name) ?? 0;
    const before = this.cuts;
    if (nested > this.depth) {
      this.cuts++;
      return undefined;
    }
    this.open.set(name, nested + 1);
    const regex = this.rule(name, tokensOf(body));
    this.open.set(name, nested);
    if (regex !== undefined && regex.length > LARK_REGEX_CHARS_MAX) throw new TooLarge();
    if (regex !== undefined && this.cuts === before) this.done.set(name, regex);
    return regex;
  }

  /** A rule's ways. Those that begin or end with the rule itself are what may follow or precede the others, any number of times. */
  private rule(name: string, tokens: readonly string[]): string | undefined {
    const ways = waysOf(tokens);
    const begins = (way: Way): boolean => way[0] === name && !isTimes(way[1]);
    const ends = (way: Way): boolean => way.length > 1 && way.at(-1) === name;
    const base = this.either(ways.filter((way) => !begins(way) && !ends(way)));
    if (base === undefined) return undefined;
    const before = this.either(
      ways.filter((way) => !begins(way) && ends(way)).map((way) => way.slice(0, -1)),
    );
    const whole = `${repeated(before)}${base}`;
    const after = this.either(ways.filter((way) => begins(way) && !ends(way)).map((way) => way.slice(1)));
    const between = this.either(
      ways.filter((way) => begins(way) && ends(way)).map((way) => way.slice(1, -1)),
    );
    const tails = [after, between === undefined ? undefined : `${between}${whole}`];
    return `${whole}${repeated(tails.filter((tail) => tail !== undefined && tail !== "").join("|"))}`;
  }

  private either(ways: readonly Way[]): string | undefined {
    if (ways.length === 0) return undefined;
    return this.choice(ways.flatMap((way, at) => (at === 0 ? way : ["|", ...way])));
  }

  /** Consumes tokens up to a closing bracket. */
  private choice(tokens: string[]): string | undefined {
    const ways: (string | undefined)[] = [];
    let way: string | undefined = "";
    for (let token = tokens[0]; token !== undefined && token !== ")" && token !== "]"; token = tokens[0]) {
      tokens.shift();
      if (token === "|") {
        ways.push(way);
        way = "";
      } else if (!token.startsWith("->")) {
        const item = this.item(token, tokens);
        way = way === undefined || item === undefined ? undefined : way + item;
      }
    }
    const possible = [...ways, way].filter((one) => one !== undefined);
    if (possible.length === 0) return undefined;
    return ways.length === 0 ? possible[0] : `(?:${possible.join("|")})`;
  }

  private item(token: string, tokens: string[]): string | undefined {
    const atom = this.atom(token, tokens);
    const next = tokens[0];
    if (next === undefined || !isTimes(next)) return atom;
    tokens.shift();
    const [, least, most] = TIMES.exec(next) ?? [];
    const bounds = most === undefined ? `{${least}}` : `{${least},${most}}`;
    const times = least === undefined ? next : bounds;
    if (atom === undefined) return /^[?*]|^\{0/.test(times) ? "" : undefined;
    return `(?:${atom})${times}`;
  }

  private atom(token: string, tokens: string[]): string | undefined {
    if (token === "(" || token === "[") {
      const inner = this.choice(tokens);
      if (tokens.shift() !== (token === "(" ? ")" : "]")) throw new Unknown();
      if (token === "[") return inner === undefined ? "" : `(?:${inner})?`;
      return inner === undefined ? undefined : `(?:${inner})`;
    }
    if (token.startsWith('"'))
      return token.endsWith("i") ? anyCase(token) : this.range(textOf(token), tokens);
    const [, regex, flags = ""] = REGEX.exec(token) ?? [];
    if (regex !== undefined) return `(?${flags}:${regex.replaceAll("\\/", "/")})`;
    if (!/^\w+$/.test(token)) throw new Unknown();
    const named = this.named(token);
    return named === undefined ? undefined : `(?:${named})`;
  }

  /** A text, or the characters from it to another one. */
  private range(from: string, tokens: string[]): string {
    if (tokens[0] !== "..") return escaped(from);
    const [, to = ""] = tokens.splice(0, 2);
    const end = textOf(to);
    if (!/^.$/su.test(from) || !/^.$/su.test(end)) throw new Unknown();
    return `[${escaped(from)}-${escaped(end)}]`;
  }
}

const TIMES = /^~\s*(\d+)(?:\s*\.\.\s*(\d+))?$/;
const REGEX = /^\/(.+)\/([is]*)$/s;

function isTimes(token: string | undefined): boolean {
  return token !== undefined && (/^[?*+]$/.test(token) || TIMES.test(token));
}

function repeated(regex: string | undefined): string {
  return regex === undefined || regex === "" ? "" : `(?:${regex})*`;
}

/** The ways of a choice. Throws Unknown for brackets without their counterpart. */
function waysOf(tokens: readonly string[]): readonly Way[] {
  const ways: string[][] = [[]];
  let brackets = 0;
  for (const token of tokens) {
    if (token === "(" || token === "[") brackets++;
    if ((token === ")" || token === "]") && --brackets < 0) throw new Unknown();
    if (token === "|" && brackets === 0) ways.push([]);
    else if (!token.startsWith("->")) ways.at(-1)?.push(token);
  }
  return ways;
}

/** A text in quotes with the flag `i`. */
function anyCase(token: string): string {
  const letters = Array.from(textOf(token.slice(0, -1)), (char) => {
    const [lower, upper] = [char.toLowerCase(), char.toUpperCase()];
    return lower === upper ? escaped(char) : `[${escaped(lower)}${escaped(upper)}]`;
  });
  return letters.join("");
}

function tokensOf(body: string): string[] {
  return [...body.matchAll(TOKEN)].map(([token]) => token).filter((token) => !/^(?:\s|\/\/|#)/.test(token));
}

function textOf(token: string): string {
  if (!/^"(?:[^"\\]|\\.)*"$/s.test(token)) throw new Unknown(); // with a flag, or no text
  try {
    return String(JSON.parse(token));
  } catch {
    throw new Unknown();
  }
}

/** The regular expression of a text. */
export function escaped(text: string): string {
  const named: Readonly<Record<string, string>> = { "\n": "\\n", "\r": "\\r", "\t": "\\t" };
  return text.replaceAll(/[\n\r\t]|[.*+?^${}()|[\]\\/-]/g, (char) => named[char] ?? `\\${char}`);
}
