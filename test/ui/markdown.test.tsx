// Markdown is rendered only as elements of a fixed list, whatever a model generates.

import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { type ComponentChildren, isValidElement, type VNode } from "preact";
import { type AnyToken, blockElement, growBlocks, NO_BLOCKS } from "../../ui/view/markdown.tsx";
import { lexer } from "../../ui/view/math-tokens.ts";

/** All elements, with components rendered, and all text. */
interface Drawn {
  readonly elements: readonly { readonly tag: string; readonly props: Readonly<Record<string, unknown>> }[];
  readonly text: string;
}

function draw(children: ComponentChildren): Drawn {
  if (Array.isArray(children)) {
    const all = children.map((child: ComponentChildren) => draw(child));
    return { elements: all.flatMap(({ elements }) => elements), text: all.map(({ text }) => text).join("") };
  }
  if (isVNode(children)) return drawElement(children);
  const isText = typeof children === "string" || typeof children === "number";
  return { elements: [], text: isText ? String(children) : "" };
}

function drawElement({ type, props }: VNode<Record<string, unknown>>): Drawn {
  const { children, ...others } = props;
  const inner = draw(children);
  if (typeof type === "string")
    return { ...inner, elements: [{ tag: type, props: others }, ...inner.elements] };
  // Code blocks have state, so they are not called here; their input is text.
  if ("code" in props) return { elements: [], text: String(props["code"]) };
  const render = type as (given: object) => ComponentChildren;
  return props["href"] === undefined ? inner : draw(render(props));
}

function isVNode(value: ComponentChildren): value is VNode<Record<string, unknown>> {
  return isValidElement(value);
}

const drawn = (source: string): Drawn => draw(lexer(source).map((token) => blockElement(token as AnyToken)));
const tags = (source: string): readonly string[] => drawn(source).elements.map(({ tag }) => tag);
const links = (source: string): readonly unknown[] =>
  drawn(source)
    .elements.filter(({ tag }) => tag === "a")
    .map(({ props }) => props["href"]);

test("renders all elements of Markdown", () => {
  const source = [
    "# Title",
    "Some *soft* and **loud** ~~gone~~ `code` text<br>more",
    "> quoted",
    "1. one\n2. two\n   - inner",
    "- [x] done\n- [ ] open",
    "| a | b |\n|---|--:|\n| 1 | 2 |",
    "---",
  ].join("\n\n");
  const found = new Set(tags(source));
  const wanted = "h3 p em strong del code br blockquote ol ul li input table th td hr".split(" ");
  expect(wanted.filter((tag) => !found.has(tag))).toEqual([]);
});

test("decodes entities in text, not in code", () => {
  expect(drawn("a &lt; b &amp;&nbsp;c").text).toBe("a < b &\u00a0c");
  expect(drawn("`&lt;`").text).toBe("&lt;");
});

describe("HTML is text", () => {
  test.each([
    "<script>alert(1)</script>",
    'hello <img src=x onerror="alert(1)"> you',
    "<iframe src=javascript:alert(1)></iframe>",
    "<svg/onload=alert(1)>",
    '<a href="javascript:alert(1)">x</a>',
    "<style>*{display:none}</style>",
    "- <b>bold</b>\n- <form action=//x>",
  ])("%s", (source) => {
    expect(tags(source).filter((tag) => !["p", "ul", "li"].includes(tag))).toEqual([]);
    expect(drawn(source).text).toContain("<");
  });
});

describe("links", () => {
  test.each([
    "[x](javascript:alert(1))",
    "[x](JaVaScRiPt:alert(1))",
    "[x](&#106;avascript:alert(1))",
    "[x](<java\tscript:alert(1)>)",
    "[x](data:text/html,<script>alert(1)</script>)",
    "[x](vbscript:x)",
    "[x](file:///etc/passwd)",
    "[x](blob:http://localhost/1)",
    "[x](/v1/models)",
    "![x](javascript:alert(1))",
    "<javascript:alert(1)>",
    "[x][y]\n\n[y]: javascript:alert(1)",
  ])("%s is no link", (source) => {
    expect(links(source)).toEqual([]);
  });

  test.each([
    ["[x](https://example.com/a?b=1&c)", "https://example.com/a?b=1&c"],
    ["see http://example.com", "http://example.com/"],
    ["[x](mailto:a@example.com)", "mailto:a@example.com"],
    ["![a picture](https://example.com/p.png)", "https://example.com/p.png"],
  ])("%s is one", (source, href) => {
    expect(links(source)).toEqual([href]);
  });

  test("open in a new tab without opener and referrer", () => {
    const link = drawn("[x](https://example.com)").elements.find(({ tag }) => tag === "a");
    expect(link?.props).toMatchObject({ target: "_blank", rel: "noopener noreferrer nofollow" });
  });
});

const TAGS =
  "p h3 h4 h5 h6 em strong del code br blockquote ol ul li input table thead tbody tr th td hr a div sup details summary".split(
    " ",
  );

test("no text yields another element or an active attribute", () => {
  const piece = fc.constantFrom(
    ..."<script> </script> <img onerror=x> [a](javascript:x) ![ ]( ) * ** ` ``` | - > # $ $$ <!-- --> &lt; &#x6a; \n \\".split(
      " ",
    ),
    "\n",
    "\n\n",
    "  ",
    "javascript:alert(1)",
    "|---|",
    "\n<details>\n",
    "<details open><summary>",
    "</summary>",
    "</details>\n",
    "[^1]",
    "\n[^1]: ",
  );
  const source = fc.array(fc.oneof(piece, fc.string({ maxLength: 6 })), { maxLength: 30 });
  fc.assert(
    fc.property(source, (pieces) => {
      for (const { tag, props } of drawn(pieces.join("")).elements) {
        expect(TAGS).toContain(tag);
        expect(Object.keys(props).filter((name) => /^on|style|src|html/i.test(name))).toEqual([]);
        if (tag === "a") expect(String(props["href"])).toMatch(/^(?:https?|mailto):/);
      }
    }),
    { numRuns: 500 },
  );
});

describe("a growing text", () => {
  const SOURCE =
    "# A\n\nText *one*\n\n- a\n\n- b\n  more\n\n```js\nlet a = 1;\n\nlet b;\n```\n\n| a |\n|---|\n| 1 |\n\nSaid[^1] so\n<details open>\n<summary>More</summary>\n\n- a\n\n<details>\nin\n</details>\n\n</details>\n\n[^1]: Who\n  knows\n\nEnd";

  test("renders at every length like a complete text of that length", () => {
    let blocks = NO_BLOCKS;
    for (let length = 1; length <= SOURCE.length; length++) {
      const text = SOURCE.slice(0, length);
      blocks = growBlocks(blocks, text);
      const shown = [...blocks.tokens, ...blocks.open];
      expect(shown.map(({ raw }) => raw)).toEqual(lexer(text).map(({ raw }) => raw));
    }
  });

  test("is parsed from its last block", () => {
    const blocks = growBlocks(NO_BLOCKS, SOURCE);
    expect(SOURCE.slice(blocks.chars)).toBe("End");
  });

  test("is parsed from the start if the text is replaced", () => {
    expect(growBlocks(growBlocks(NO_BLOCKS, SOURCE), "Other\n\ntext").source).toBe("Other\n\n");
  });
});

test.each([
  ["tight", "- [ ] one\n- [x] two"],
  ["loose", "- [ ] one\n\n- [x] two"],
])("a %s list of tasks has one box for each item", (_, source) => {
  const { elements, text } = drawn(source);
  const boxes = elements.filter(({ tag }) => tag === "input");
  expect(boxes.map(({ props }) => props["checked"])).toEqual([false, true]);
  expect(text.replaceAll(/\s/g, "")).toBe("onetwo");
});

test("footnotes and details are elements; what is nested too deep stays text", () => {
  const source =
    "Said[^a].\n\n<details><summary>**More** <b>here</b></summary>\n\nText[^b]\n\n</details>\n\n[^a]: Who";
  expect(tags(source)).toEqual(["p", "sup", "details", "summary", "p", "sup", "p", "sup"]);
  expect(drawn(source).text).toBe("Saida.**More** hereTextba Who");
  expect(tags("<details>\nnever closed")).toEqual(["details", "summary", "p"]);
  expect(tags("a\n<details >\nx\n</details>\nb")).toEqual(["p", "details", "summary", "p", "p"]);
  const deep = "<details>\n".repeat(20_000);
  expect(tags(deep).filter((tag) => tag === "details").length).toBeLessThan(17 * 20);
  expect(tags("x[^] [^ a] [^a]: no")).toEqual(["p"]);
});

test.each(["> ", ">", "- ", "1. ", "**a *b ", "[a]("])(
  "%p without end is nested a little, and its text is whole",
  (piece) => {
    const source = `${piece.repeat(4000)}x`;
    const drawnAll = drawn(source);
    expect(drawnAll.elements.length).toBeLessThan(200);
    expect(drawnAll.text.endsWith("x")).toBe(true);
  },
);

test("a paragraph of one long word or of endless emphasis is text", () => {
  for (const source of [`${"a".repeat(50_000)}@`, "a_b".repeat(16_000)]) {
    const { elements, text } = drawn(source);
    expect({ tags: elements.map(({ tag }) => tag), text }).toEqual({ tags: ["p"], text: source });
  }
});
