// Writes grammars in llguidance's variant of Lark: rules, literals with control tokens, and text up to a tag.

/** Control tokens of a model, which grammars must name by id because no text matches them. */
export interface Markup {
  /** Ids of control tokens by their text. */
  readonly controls: ReadonlyMap<string, number>;
  /** Tokens that end the answer: allowed by the sampler, never part of a grammar. */
  readonly endings: ReadonlySet<number>;
}

/** A piece of a literal: text, or a control token. */
type LiteralPart = string | number;

const TAG = /(<\|[^<>]*?\|>)/;
const ANY = "/(?s:.*)/";

/** A terminal that matches nothing, where Lark requires one. */
export const NOTHING = '""';

function quoted(text: string): string {
  // Lark reads its strings as JSON.
  return JSON.stringify(text);
}

function alternation(texts: readonly string[]): string {
  return texts.length === 1 ? (texts[0] ?? "") : `(${texts.join(" | ")})`;
}

export class LarkWriter {
  private readonly markup: Markup;
  private readonly byBody = new Map<string, string>(); // rule names
  private readonly literals = new Map<string, string>(); // bodies, by text
  private readonly rules: string[] = [];
  private readonly firsts: ReadonlyMap<string, readonly string[]>;
  private readonly written = new Set<string>();
  /** Tags that end free text. */
  readonly tags = new Set<string>();
  private count = 0;

  constructor(markup: Markup) {
    this.markup = markup;
    const firsts = new Map<string, string[]>();
    for (const text of markup.controls.keys()) {
      const first = text.charAt(0);
      firsts.set(first, [...(firsts.get(first) ?? []), text]);
    }
    for (const texts of firsts.values()) texts.sort((a, b) => b.length - a.length);
    this.firsts = firsts;
  }

  /** All rules so far; the last one is `start`. */
  text(start: string): string {
    return [...this.rules, `start: ${start}`, ""].join("\n");
  }

  /** An unused rule name. */
  newName(): string {
    this.count++;
    return `r${this.count}`;
  }

  /** The name of a terminal with this body. */
  terminal(body: string): string {
    const known = this.byBody.get(body);
    if (known !== undefined) return known;
    const name = this.newName().toUpperCase();
    this.byBody.set(body, name);
    this.define(name, body);
    return name;
  }

  /** The name of a rule with this body. `attribute`: "[lazy]" for a terminal that ends as soon as it matches. */
  rule(body: string, attribute = ""): string {
    const key = attribute + body;
    const known = this.byBody.get(key);
    if (known !== undefined) return known;
    const name = this.newName();
    this.byBody.set(key, name);
    this.define(name, body, attribute);
    return name;
  }

  /** Whether rules of this name are requested for the first time. */
  once(name: string): boolean {
    const isFirst = !this.written.has(name);
    this.written.add(name);
    return isFirst;
  }

  define(name: string, body: string, attribute = ""): void {
    this.rules.push(`${name}${attribute}: ${body}`);
  }

  /** Text and control tokens of a literal, up to a token that ends the answer. */
  parts(text: string): readonly LiteralPart[] {
    const parts: LiteralPart[] = [];
    let plain = "";
    for (let at = 0; at < text.length;) {
      const control = this.firsts.get(text.charAt(at))?.find((one) => text.startsWith(one, at));
      const token = control === undefined ? undefined : this.markup.controls.get(control);
      if (control === undefined || token === undefined) {
        plain += text.charAt(at);
        at++;
        continue;
      }
      if (plain !== "") parts.push(plain);
      plain = "";
      if (this.markup.endings.has(token)) return parts;
      parts.push(token);
      at += control.length;
    }
    if (plain !== "") parts.push(plain);
    return parts;
  }

  /** Each tag is a terminal: a lexer takes the longest of several with a common prefix. */
  literal(text: string): string {
    const known = this.literals.get(text);
    if (known !== undefined) return known;
    const body = this.terminals(text);
    this.literals.set(text, body);
    return body;
  }

  private terminals(text: string): string {
    const parts = this.parts(text).flatMap((part) =>
      typeof part === "string"
        ? part
            .split(TAG)
            .filter((one) => one !== "")
            .map(quoted)
        : [`<[${part}]>`],
    );
    return parts.length === 0 ? NOTHING : parts.join(" ");
  }

  /** The part of `close` that a text before it must not contain; none if `close` begins with a control token. */
  tailOf(close: string): string {
    if (close !== "") this.tags.add(close);
    const [first] = this.parts(close);
    return typeof first === "string" ? first : "";
  }

  /** Text without any of `avoid`, up to and including `close`. */
  textUntil(close: string, avoid: readonly string[]): string {
    const tail = this.tailOf(close);
    if (tail === "" && close !== "") {
      const free = this.terminal(freeOf([close, ...avoid]));
      return `${free} ${this.literal(close)}`;
    }
    if (close === "") return this.terminal(avoid.length === 0 ? ANY : freeOf(avoid));
    const body = avoid.length === 0 ? ANY : `(${freeOf(avoid)})`;
    const rest = this.literal(close.slice(tail.length));
    const text = this.rule(`${body} ${quoted(tail)}`, "[lazy]");
    return rest === NOTHING ? text : `${text} ${rest}`;
  }

  /** Optional white space. */
  space(): string {
    return `${this.rule("/[ \\t\\r\\n]{1,24}/")}?`;
  }

  /** One of some bodies. */
  any(bodies: readonly string[]): string {
    return bodies.length === 1 ? (bodies[0] ?? NOTHING) : this.rule(bodies.join(" | "));
  }
}

function freeOf(texts: readonly string[]): string {
  return `${ANY} & ~(${ANY} ${alternation(texts.map(quoted))} ${ANY})`;
}
