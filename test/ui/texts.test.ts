// Texts of the page: none stands outside the catalogue, and each language has all of them.

import { describe, expect, test } from "bun:test";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { parseSync } from "oxc-parser";
import { formatBytes, formatNumber, formatSecs } from "../../ui/format.ts";
import { de } from "../../ui/texts/de.ts";
import { en } from "../../ui/texts/en.ts";
import { languageOf, t } from "../../ui/texts/texts.ts";

const ROOT = join(import.meta.dir, "../../ui");
const FILES = readdirSync(ROOT, { recursive: true, encoding: "utf8" }).filter(
  (file) => /\.tsx?$/.test(file) && !file.endsWith(".d.ts") && !file.startsWith("texts/"),
);

/** Texts for models and in files, names of products, and values that only look like texts. */
const NO_TEXTS: readonly (readonly [file: RegExp, text: RegExp])[] = [
  [/^state\/(?:request|text-files|ways-out)\.ts$|^documents\//, /./], // what a model reads
  [/^view\/mathml\.ts$|^view\/share-page\.tsx$|^state\/(?:wav|media-types)\.ts$/, /./], // names of elements and formats
  [/./, /^\(?(?:[\w-]+: [\w.-]+\)|\d+px .*)$/], // media queries, margins, fonts
  [/^pages\/chart-view\.tsx$/, /^12px system-ui$/],
  [/^state\/proposals\.ts$/, /^(?:Qwen|Gemma|gpt-oss|[\w-]+\/)/],
  [/^view\/tool-call\.tsx$/, /^(?:Python$|Shell: )/],
  [/^view\/share-dialog\.tsx$/, /^(?:Markdown|JSON)$/],
  [/^view\/mcp-settings\.tsx$/, /^(?:wiki$|https:)/],
  [/^view\/help-dialog\.tsx$/, /^(?:Ctrl|Shift|Enter|Esc)/],
  [/./, /^(?:Arrow(?:Up|Down)|Enter|Escape|NotAllowedError|PasswordException|ApiError|B64Json|KB|MB|GB|TB)$/],
  [/./, /^(?:GET|POST|PUT|DELETE|Bearer )/],
  [/./, /^\.menu button/], // a selector
  [/^state\/attachments\.ts$/, /^no 2D canvas context$/], // caught there
  [/^view\/composer\.tsx$/, /^Files$/], // a type of dropped data
  [/^app\.tsx$|^view\/app\.tsx$/, /^ · svc$/],
  [/^pages\/models-page\.tsx$/, /^models_mutable = true$/],
  [/^pages\/added-files\.tsx$/, /^--models-dir$/],
];

/** Attributes whose values people read. */
const TEXT_ATTRIBUTES = new Set(["aria-label", "alt", "action", "hint", "label", "placeholder", "title"]);

interface Node {
  readonly type: string;
  readonly start: number;
  readonly [key: string]: unknown;
}

interface Place {
  readonly attribute?: string;
  readonly isInFunction?: boolean;
}

const isNode = (value: unknown): value is Node =>
  typeof value === "object" && value !== null && "type" in value && typeof value.type === "string";

/** Calls `see` with each node that is no import and no type. */
function walk(node: unknown, place: Place, see: (node: Node, place: Place) => void): void {
  if (Array.isArray(node)) return node.forEach((item) => walk(item, place, see));
  if (
    !isNode(node) ||
    node.type === "ImportDeclaration" ||
    /^TS(?:Type|Interface|Literal|Union)/.test(node.type)
  )
    return;
  see(node, place);
  const name =
    node.type === "JSXAttribute" && isNode(node["name"]) ? { attribute: String(node["name"]["name"]) } : {};
  const inside = { ...place, ...name, ...(/Function/.test(node.type) ? { isInFunction: true } : {}) };
  for (const [key, value] of Object.entries(node)) {
    if (key === "key" && node.type === "Property") continue;
    if (/^[!=]==$/.test(String(node["operator"])) && isNode(value) && value.type === "Literal") continue;
    walk(value, inside, see);
  }
}

/** Text of a node that may be one; undefined for other nodes. */
function textOf(node: Node): string | undefined {
  if (node.type === "JSXText") return String(node["value"]).trim();
  if (node.type === "Literal" && typeof node["value"] === "string") return node["value"];
  if (node.type !== "TemplateLiteral" || !Array.isArray(node["quasis"])) return undefined;
  const quasis = node["quasis"] as readonly { readonly value: { readonly cooked: string } }[];
  return quasis.map(({ value }) => value.cooked).join("");
}

/** Whether a person would read it: words, or one that begins like a sentence, or what stands where texts stand. */
function looksLikeText(text: string, node: Node, { attribute }: Place): boolean {
  if (!/\p{L}{2}/u.test(text)) return false;
  if (node.type === "JSXText") return true;
  if (attribute !== undefined && TEXT_ATTRIBUTES.has(attribute)) return true;
  if (attribute !== undefined && node.type === "Literal" && !/ /.test(text)) return false;
  if (attribute === "class" || attribute === "style" || attribute === "fill" || attribute === "rel")
    return false;
  return /\p{L} \p{L}/u.test(text) || /^\p{Lu}\p{Ll}/u.test(text);
}

function parsed(file: string): Node {
  const source = readFileSync(join(ROOT, file), "utf8");
  return parseSync(file, source).program as unknown as Node;
}

test("no text that people read stands outside the catalogue", () => {
  const found: string[] = [];
  for (const file of FILES) {
    walk(parsed(file), {}, (node, place) => {
      const text = textOf(node);
      if (text === undefined || !looksLikeText(text, node, place)) return;
      if (!NO_TEXTS.some(([where, what]) => where.test(file) && what.test(text)))
        found.push(`${file}: ${text}`);
    });
  }
  expect(found).toEqual([]);
});

test("no text is read when a file is loaded: it would not follow a change of the language", () => {
  const found: string[] = [];
  for (const file of FILES) {
    walk(parsed(file), {}, (node, { isInFunction = false }) => {
      const { object } = node;
      if (isInFunction || node.type !== "MemberExpression" || !isNode(object)) return;
      if (object.type === "Identifier" && object["name"] === "t") found.push(`${file}: at ${node.start}`);
    });
  }
  expect(found).toEqual([]);
});

type Tree = Readonly<Record<string, unknown>>;

/** Texts of a catalogue by their paths; functions are called with the names of the things that they take. */
function texts(tree: Tree, path = ""): readonly (readonly [string, string])[] {
  return Object.entries(tree).flatMap(([key, value]) => {
    const at = path === "" ? key : `${path}.${key}`;
    if (typeof value === "function") return [[at, String(value(2, 3, 4))] as const];
    return typeof value === "string" ? [[at, value] as const] : texts(value as Tree, at);
  });
}

describe("the German catalogue", () => {
  test("has every text, and each of its functions uses all that it gets", () => {
    const german = new Map(texts(de));
    for (const [path, text] of texts(en)) {
      if (path.startsWith("system.names")) continue; // fields without a name are named after their keys
      const translated = german.get(path);
      expect([path, translated?.trim() === ""]).toEqual([path, false]);
      const numbers = (from: string) => from.match(/\b[234]\b/g)?.toSorted();
      expect([path, numbers(translated ?? "")]).toEqual([path, numbers(text)]);
    }
  });

  test("is not English: few texts are the same in both languages", () => {
    const german = new Map(texts(de));
    const same = texts(en).filter(([path, text]) => text.includes(" ") && german.get(path) === text);
    expect(same.map(([, text]) => text)).toEqual(["Top p", "Top k", "Min p"]);
  });
});

test("the language is that of the browser, if there is one, unless another one is chosen", () => {
  expect(languageOf("system", ["fr-FR", "de-AT", "en"])).toBe("de");
  expect(languageOf("system", ["en-US", "de"])).toBe("en");
  expect(languageOf("system", ["fr"])).toBe("en");
  expect(languageOf("system", [])).toBe("en");
  expect(languageOf("de", ["en"])).toBe("de");
  expect(t.common.save).toBe("Save");
});

test("numbers have the form of the language", () => {
  expect([formatNumber(1234), formatNumber(4.5678), formatNumber(0), formatNumber(0.1234)]).toEqual([
    "1,234",
    "4.57",
    "0",
    "0.123",
  ]);
  expect([
    formatBytes(1536),
    formatBytes(1000),
    formatSecs(0.5),
    formatSecs(2.25),
    formatSecs(61),
    formatSecs(239.7),
  ]).toEqual(["1.5 KB", "1.0 KB", "500 ms", "2.3 s", "1 min 1 s", "4 min"]);
});
