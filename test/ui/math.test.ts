// Formulas: recognition in text, and rendering only as allowed elements.

import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { type ComponentChildren, isValidElement, type VNode } from "preact";
import temml from "temml";
import { growBlocks, NO_BLOCKS } from "../../ui/view/markdown.tsx";
import { lexer, type MathToken } from "../../ui/view/math-tokens.ts";
import { mathElement } from "../../ui/view/mathml.ts";

/** The formulas of a text: d for display, i for inline. */
function formulas(text: string): readonly string[] {
  const found: string[] = [];
  const look = (value: unknown): void => {
    if (Array.isArray(value)) value.forEach(look);
    if (typeof value !== "object" || value === null) return;
    if ("type" in value && value.type === "math") {
      const { formula, isDisplay } = value as MathToken;
      found.push(`${isDisplay ? "d" : "i"} ${formula}`);
    }
    for (const key of ["tokens", "items", "header", "rows"]) look((value as Record<string, unknown>)[key]);
  };
  look([...lexer(text)]);
  return found;
}

describe("a formula", () => {
  test.each([
    ["$$x^2$$", ["d x^2"]],
    ["$$\na\n- b\n= c\n$$\nText", ["d a\n- b\n= c"]],
    ["\\[\nx\n\\]\n", ["d x"]],
    ["see \\(a_1\\), \\(b\\) and \\[c\\] now", ["i a_1", "i b", "d c"]],
    ["where $x_1$ is *old* and $y*z$, $1$.", ["i x_1", "i y*z", "i 1"]],
    ["before\n$$\nx\n$$\nafter", ["d x"]],
    ["- item\n  $$\n  x\n  $$\n- \\(b\\)", ["d x", "i b"]],
    ["| a |\n|---|\n| $x$ |", ["i x"]],
    ["**so $x$**", ["i x"]],
    ["$\\$$", ["i \\$"]],
  ])("%j has one", (text, expected) => {
    expect(formulas(text)).toEqual(expected);
  });

  test.each([
    "It costs $5 and $6, or $5-$6. US$5/US$6",
    "$HOME and $PATH, $FOO/$BAR",
    "\\$5 and \\$6",
    "`$a$` and `\\(b\\)`",
    "```\n$$\nx\n$$\n```",
    "$$ open\n\nnext $$",
    "\\[ open",
    "$$$$",
    "$ a $",
  ])("%j has none", (text) => {
    expect(formulas(text)).toEqual([]);
  });
});

test("long and deeply nested formulas are bounded", () => {
  expect(formulas(`$$${"x".repeat(5000)}$$`)).toEqual([]);
  expect(drawn("{".repeat(3000))).toBeUndefined();
  expect(drawn(`${"{".repeat(3000)}x${"}".repeat(3000)}`)?.length ?? 0).toBeLessThan(4000);
});

test("a growing text with formulas renders at every length like a complete text of that length", () => {
  const source =
    "A $b$\n\n$$\nx\n= y\n$$\n\nand\n\\[\nz\n\\]\nmore\n\n$$ open\n\nthen\n\n- $$\n  a\n  $$\n\nEnd";
  let blocks = NO_BLOCKS;
  for (let length = 1; length <= source.length; length++) {
    const text = source.slice(0, length);
    blocks = growBlocks(blocks, text);
    const shown = [...blocks.tokens, ...lexer(text.slice(blocks.chars))];
    expect(shown.map(({ raw, type }) => [raw, type])).toEqual(
      lexer(text).map(({ raw, type }) => [raw, type]),
    );
  }
});

interface Drawn {
  readonly tag: string;
  readonly props: Readonly<Record<string, unknown>>;
}

function drawn(formula: string): readonly Drawn[] | undefined {
  const element = mathElement(temml, formula, true);
  return element === undefined ? undefined : all(element);
}

function all(node: ComponentChildren): readonly Drawn[] {
  if (Array.isArray(node)) return node.flatMap((child: ComponentChildren) => all(child));
  if (!isValidElement(node)) return [];
  const { type, props } = node as VNode<Record<string, unknown>>;
  const { children, ...others } = props;
  return [{ tag: String(type), props: others }, ...all(children)];
}

test("TeX becomes MathML", () => {
  const tags = drawn("\\frac{1}{2} + \\sqrt{x} = \\begin{pmatrix} a & b \\end{pmatrix}")?.map(
    ({ tag }) => tag,
  );
  expect(tags?.[0]).toBe("math");
  for (const tag of ["mfrac", "msqrt", "mtable", "mtd", "mn", "mo"]) expect(tags).toContain(tag);
});

test.each([
  "\\frac{1}",
  "\\unknown{x}",
  "\\def\\a{\\a\\a}\\a",
  "\\href{javascript:alert(1)}{x}",
  "\\includegraphics{https://tracker.example/p.png}",
  "\\class{x}{y}",
  "\\style{background:url(//x)}{y}",
  "\\data{x=1}{y}",
])("%s is shown as it was written", (formula) => {
  expect(drawn(formula)).toBeUndefined();
});

test("lengths are bounded", () => {
  const widths = drawn("\\rule{9999em}{9999em}\\kern9999em")?.flatMap(({ props: { width } }) =>
    typeof width === "string" ? [parseFloat(width)] : [],
  );
  expect(widths).toEqual([20, 20]);
});

test("no formula yields another element or an active attribute", () => {
  const piece = fc.constantFrom(
    ..."\\frac \\sqrt \\color{red} \\textcolor{url(x)} \\colorbox{#ff0} \\boxed \\cancel \\text{<b>} \\href{javascript:x} \\tag{1} \\style{a:b} \\class{a} \\rule{1em}{2em} \\begin{matrix} \\end{matrix} & \\\\ { } ^ _ <img/onerror=x> $ \\left( \\right) \\operatorname{a} \\def\\x{y} \\x".split(
      " ",
    ),
  );
  const source = fc.array(fc.oneof(piece, fc.string({ maxLength: 4 })), { maxLength: 12 });
  fc.assert(
    fc.property(source, (pieces) => {
      for (const { tag, props } of drawn(pieces.join(" ")) ?? []) {
        expect(tag).toMatch(/^m[a-z]+$|^none$/);
        expect(Object.keys(props).filter((name) => /^on|src|href|html|^id$/i.test(name))).toEqual([]);
        expect(JSON.stringify(props)).not.toMatch(/url|javascript|[(]/);
      }
    }),
    { numRuns: 500 },
  );
});
