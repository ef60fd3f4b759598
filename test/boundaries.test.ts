// Who may import whom, and who may touch the process. The linter says the same while one types (.oxlintrc.json); this
// test is the authority, and it also proves that it reads something.

import { describe, expect, test } from "bun:test";
import { readdirSync, readFileSync } from "node:fs";
import { dirname, join, relative } from "node:path";

const ROOT = join(import.meta.dir, "..");

interface Rule {
  /** A folder ends with a slash. Of several rules that fit a file, the longest holds. */
  readonly from: string;
  /** What its files may import besides their own folder and packages. */
  readonly may: readonly string[];
  /** The same with `import type` only. */
  readonly types?: readonly string[];
}

/** Downward only. Two folders at one level that need each other share a type in core/, or src/app hands over a function. */
const RULES: readonly Rule[] = [
  { from: "src/core/", may: [] },
  { from: "src/config/", may: ["src/core/"] },
  // A dialect knows the canonical words and what dialects share; neither its siblings nor the engine, HTTP or a clock.
  ...readdirSync(join(ROOT, "src/dialects")).map((name) => {
    return { from: `src/dialects/${name}/`, may: ["src/core/", "src/dialects/shared/"] };
  }),
  // Adapter files and who uses which; the engine is reached through functions that src/app hands over.
  { from: "src/lora/", may: ["src/core/"] },
  // What the server does by itself between a request and the engine's runs; it knows neither HTTP nor a dialect.
  {
    from: "src/agent/",
    may: ["src/core/", "src/exec/names.ts", "src/search/domains.ts", "src/search/failure.ts"],
    types: ["src/exec/types.ts", "src/mcp/types.ts", "src/sandbox/types.ts", "src/search/types.ts"],
  },
  // Servers of the Model Context Protocol that we are a client of. What becomes of their tools is the agent's business.
  { from: "src/mcp/", may: ["src/core/"] },
  // Runs code that a model wrote. How it is confined is the sandbox's business, which knows nothing of what runs.
  { from: "src/exec/", may: ["src/core/", "src/sandbox/"] },
  { from: "src/sandbox/", may: ["src/core/"] },
  { from: "src/engine/", may: ["src/core/"] },
  // Stores of what outlives a request. They meet in src/app.
  { from: "src/state/", may: ["src/core/"] },
  { from: "src/files/", may: ["src/core/"] },
  { from: "src/images/", may: ["src/core/"] },
  { from: "src/sessions/", may: ["src/core/"] },
  { from: "src/skills/", may: ["src/core/"] },
  // The web as models see it: finds pages and has them read by processes that know nothing else.
  { from: "src/search/", may: ["src/core/", "src/net/", "src/reader/protocol.ts"] },
  { from: "src/reader/", may: ["src/core/"] },
  // Ways out to the internet.
  { from: "src/net/", may: ["src/core/"] },
  // The engine process. It shares one file with the serving process; a folder for each kind of model, of which main.ts
  // alone knows the kind's library.
  { from: "src/worker/", may: ["src/core/", "src/engine/protocol.ts"] },
  { from: "src/worker/shared/", may: ["src/core/", "src/engine/protocol.ts"] },
  ...["text", "image", "speech"].flatMap((kind) => {
    const folder = `src/worker/${kind}/`;
    const may = ["src/core/", "src/engine/protocol.ts", "src/worker/shared/"];
    return [
      { from: folder, may },
      { from: `${folder}main.ts`, may: [...may, folder, "ffi/"] },
    ];
  }),
  // Responses that outlive their request are kept and worked on in their own words, without HTTP.
  { from: "src/responses/", may: ["src/core/", "src/dialects/responses/"] },
  { from: "src/hub/", may: ["src/core/"] },
  { from: "src/http/", may: ["src/core/", "src/dialects/"], types: ["src/responses/"] },
  { from: "src/cli/", may: ["src/core/", "src/config/", "src/hub/"] },
  // A chat knows conversations and terminals.
  { from: "src/cli/chat/", may: ["src/core/"] },
  { from: "src/metrics/", may: ["src/core/"] },
  // Measuring knows a run and what comes of it, and not how an engine is started.
  { from: "src/measure/", may: ["src/core/"] },
  { from: "src/system/", may: ["src/core/"] },
  // The composition root hands every room what it needs from the others.
  {
    from: "src/app/",
    may: [
      "agent",
      "config",
      "core",
      "engine",
      "exec",
      "files",
      "http",
      "hub",
      "images",
      "lora",
      "mcp",
      "measure",
      "metrics",
      "net",
      "quantize",
      "responses",
      "sandbox",
      "search",
      "sessions",
      "skills",
      "state",
      "system",
    ]
      .map((room) => `src/${room}/`)
      .concat("ffi/listen-backlog.ts"),
  },
  // One executable, two processes: main.ts has the commands of both.
  {
    from: "src/main.ts",
    may: [
      "src/core/",
      "src/config/",
      "src/cli/",
      "src/hub/",
      "src/app/",
      "src/worker/main.ts",
      "src/worker/quantize.ts",
      "src/lora/convert-process.ts",
      "src/quantize/",
    ],
  },
  // The executable's first file: it loads as little as it can.
  { from: "src/quantize/", may: ["src/core/"] },
  { from: "src/worker/quantize.ts", may: ["ffi/"] },
  {
    from: "src/entry.ts",
    may: [
      "src/core/launcher.ts",
      "src/reader/protocol.ts",
      "src/reader/main.ts",
      "src/main.ts",
      "ffi/network-guard.ts",
      "ffi/parent-death.ts",
      "ffi/sandbox-launcher.ts",
      "ffi/socket-memory.ts",
    ],
  },
  { from: "src/build.ts", may: ["src/http/ui-bundle.ts", "prebuilt/inputs.ts"] },
  // Runs in browsers and talks to the public API alone; it knows the shapes on the wire and no code of the server.
  { from: "ui/", may: [], types: ["src/core/", "src/dialects/"] },
  // ffi implements what the worker needs, so it knows those interfaces, and what the executable carries.
  {
    from: "ffi/",
    may: ["src/core/", "prebuilt/", "demo-model/"],
    types: [
      "src/worker/text/backend.ts",
      "src/worker/text/constraint-backend.ts",
      "src/worker/text/embed-backend.ts",
      "src/worker/text/media-backend.ts",
      "src/worker/image/backend.ts",
      "src/worker/speech/backend.ts",
      "src/engine/protocol.ts",
    ],
  },
];

/** Packages and where they may be used. One that is missing here may be used nowhere. */
const PACKAGES: Readonly<Record<string, readonly string[]>> = {
  "bun:ffi": ["ffi/"],
  "bun:sqlite": ["src/state/"],
  elysia: ["src/http/"],
  "@elysiajs/cors": ["src/http/"],
  "@elysiajs/swagger": ["src/http/"],
  "swagger-ui-dist": ["src/http/"],
  "@fastify/busboy": ["src/http/"],
  yaml: ["src/skills/"],
  yauzl: ["src/skills/"],
  "@sinclair/typebox": [
    "src/core/",
    "src/config/",
    "src/dialects/",
    "src/search/",
    "src/agent/",
    "src/exec/",
    "src/http/",
    "src/lora/",
    "src/skills/",
    "ui/",
  ],
  "fast-png": ["src/worker/"],
  "@modelcontextprotocol/client": ["src/mcp/"],
  linkedom: ["src/reader/"],
  "@mozilla/readability": ["src/reader/"],
  "html-to-text": ["src/reader/"],
  minisearch: ["src/reader/"],
  "html-encoding-sniffer": ["src/search/"],
  preact: ["ui/"],
  "@preact/signals": ["ui/"],
  "eventsource-parser": ["ui/"],
  idb: ["ui/"],
  marked: ["ui/"],
  entities: ["ui/"],
  lowlight: ["ui/"],
  temml: ["ui/"],
  "highlight.js": ["ui/"],
  lucide: ["ui/"],
  uplot: ["ui/"],
  "ipaddr.js": ["src/net/"],
  commander: ["src/cli/"],
  "smol-toml": ["src/config/"],
  "prom-client": ["src/metrics/"],
  "@huggingface/hub": ["src/hub/"],
  "cli-progress": ["src/cli/"],
};

interface Words {
  readonly pattern: RegExp;
  readonly what: string;
  readonly isAllowed: (file: string) => boolean;
}

const SCRIPTS = new Set(["src/build.ts", "ffi/generate.ts", "src/config/document.ts"]);

const WORDS: readonly Words[] = [
  {
    pattern: /\bprocess\.exit\b/,
    what: "process.exit",
    isAllowed: (file) => file === "src/main.ts" || file === "src/entry.ts" || SCRIPTS.has(file),
  },
  {
    pattern: /\b(?:process|Bun|import\.meta)\.(?:env|argv)\b/,
    what: "the environment or the command line",
    isAllowed: (file) =>
      ["src/entry.ts", "src/main.ts", "src/config/sources.ts"].includes(file) || SCRIPTS.has(file),
  },
  {
    pattern:
      /\bDate\.now\b|\bnew Date\b|\bperformance\.|\bMath\.random\b|\bsetTimeout\b|\bfetch\(|"node:|\bBun\./,
    what: "a clock, chance or I/O",
    isAllowed: (file) => !file.startsWith("src/dialects/"),
  },
  {
    pattern:
      /\b(?:innerHTML|outerHTML|insertAdjacentHTML|dangerouslySetInnerHTML|eval|Function|Bun|process)\b/,
    what: "text as markup or as script, or what browsers lack",
    isAllowed: (file) => !file.startsWith("ui/"),
  },
  {
    pattern: /\bfetch\(|\bXMLHttpRequest\b|\bWebSocket\b|\bEventSource\b/,
    what: "the network past the one client",
    isAllowed: (file) => !file.startsWith("ui/") || file === "ui/api/client.ts",
  },
];

/** Source text by path from the root. */
type Sources = ReadonlyMap<string, string>;

function readSources(): Sources {
  const paths = [...new Bun.Glob("{src,ffi,ui}/**/*.{ts,tsx}").scanSync(ROOT)].sort();
  return new Map(paths.map((path) => [path, readFileSync(join(ROOT, path), "utf8")]));
}

interface Import {
  readonly target: string;
  readonly isType: boolean;
}

const STATIC = /^(?:import|export)\b(?<type>\s+type\b)?[^;"'`]*?\bfrom\s+"(?<target>[^"]+)"/gm;
const TRANSPILERS = {
  ts: new Bun.Transpiler({ loader: "ts" }),
  tsx: new Bun.Transpiler({ loader: "tsx" }),
};

/**
 * Imports of a file: the pattern sees all static ones, type-only ones included, which scanImports leaves out; scanImports
 * sees dynamic ones and `import "x"`.
 */
function importsOf(file: string, source: string): readonly Import[] {
  const found = [...source.matchAll(STATIC)].map(({ groups }) => ({
    target: groups?.["target"] ?? "",
    isType: groups?.["type"] !== undefined,
  }));
  const known = new Set(found.map(({ target }) => target));
  const scanned = TRANSPILERS[file.endsWith("x") ? "tsx" : "ts"].scanImports(source).map(({ path }) => path);
  return [
    ...found,
    // For JSX the scanner reports its own idea of a runtime, whatever the sources are set up for.
    ...scanned
      .filter((path) => !known.has(path) && packageOf(path) !== "react")
      .map((target) => ({ target, isType: false })),
  ];
}

/** `@scope/name` or `name` of a specifier; built-in modules by their whole name. */
function packageOf(target: string): string {
  if (target.startsWith("bun:") || target.startsWith("node:")) return target;
  return target
    .split("/")
    .slice(0, target.startsWith("@") ? 2 : 1)
    .join("/");
}

const isWithin = (path: string, place: string): boolean =>
  place.endsWith("/") ? path.startsWith(place) : path === place;

function ruleOf(file: string): Rule | undefined {
  const fitting = RULES.filter(({ from }) => isWithin(file, from));
  return fitting.sort((a, b) => b.from.length - a.from.length)[0];
}

/** Why a file may not import something; undefined where it may. */
function objection(file: string, { target, isType }: Import): string | undefined {
  if (!target.startsWith(".")) {
    const name = packageOf(target);
    if (name.startsWith("node:")) return undefined;
    const places = PACKAGES[name] ?? [];
    return places.some((place) => isWithin(file, place)) ? undefined : `may not use ${name}`;
  }
  const rule = ruleOf(file);
  if (rule === undefined) return "has no rule: add its folder to RULES";
  const path = relative(ROOT, join(ROOT, dirname(file), target));
  const own = rule.from.endsWith("/") ? [rule.from] : [];
  const places = [...own, ...rule.may, ...(isType ? (rule.types ?? []) : [])];
  if (places.some((place) => isWithin(path, place))) return undefined;
  const isTypesOnly = rule.types?.some((place) => isWithin(path, place)) ?? false;
  return `may not import ${path}${isTypesOnly ? " but for its types" : ""}`;
}

/** Comments say what they like. */
function withoutComments(source: string): string {
  return source.replace(/\/\*[^]*?\*\//g, "").replace(/(^|\s)\/\/.*$/gm, "$1");
}

function violations(sources: Sources): readonly string[] {
  return [...sources].flatMap(([file, source]) => {
    const imports = importsOf(file, source).map((found) => objection(file, found));
    const code = withoutComments(source);
    const words = WORDS.filter(({ pattern, isAllowed }) => !isAllowed(file) && pattern.test(code)).map(
      ({ what }) => `may not use ${what}`,
    );
    return [...imports.filter((text) => text !== undefined), ...words].map((text) => `${file} ${text}`);
  });
}

test("the sources keep to the rules, and they were read", () => {
  const sources = readSources();
  expect(violations(sources)).toEqual([]);
  expect(sources.size).toBeGreaterThan(70);
  const imports = [...sources].flatMap(([file, source]) => importsOf(file, source));
  expect(imports.length).toBeGreaterThan(250);
  expect(imports.filter(({ isType }) => isType).length).toBeGreaterThan(50);
});

test("every rule is about files that exist", () => {
  const paths = [...readSources().keys()];
  expect(RULES.filter(({ from }) => !paths.some((path) => isWithin(path, from)))).toEqual([]);
});

describe("a violation is found", () => {
  test.each([
    ["src/core/x.ts", 'import { a } from "../engine/client.ts";'],
    ["src/core/x.ts", 'import type { A } from "../config/settings.ts";'],
    ["src/dialects/chat/x.ts", 'export type { A } from "../../engine/protocol.ts";'],
    ["src/dialects/chat/x.ts", 'import { a } from "../completions/schema.ts";'],
    ["src/dialects/chat/x.ts", "const now = Date.now();"],
    ["src/dialects/shared/x.ts", 'import { readdirSync, readFileSync } from "node:fs";'],
    ["src/engine/x.ts", 'import {\n  type A,\n  b,\n} from "../worker/engine.ts";'],
    ["src/engine/x.ts", 'const a = await import("../http/server.ts");'],
    ["src/worker/text/engine.ts", 'import { LlamaBackend } from "../../../ffi/llama.ts";'],
    ["src/worker/image/x.ts", 'import { Engine } from "../text/engine.ts";'],
    ["src/worker/x.ts", 'import { spawnEngine } from "../engine/host.ts";'],
    ["src/http/routes/x.ts", 'import { Models } from "../../engine/models.ts";'],
    ["src/cli/x.ts", 'import "../http/server.ts";'],
    ["src/cli/x.ts", 'import { Type } from "@sinclair/typebox";'],
    ["src/engine/x.ts", 'import { fetchModel } from "../hub/fetch-model.ts";'],
    ["src/config/x.ts", 'import { listFiles } from "@huggingface/hub";'],
    ["src/http/x.ts", 'import { dlopen } from "bun:ffi";'],
    ["src/engine/x.ts", 'import { Elysia } from "elysia";'],
    ["src/http/x.ts", 'import { Counter } from "prom-client";'],
    ["src/core/x.ts", 'import lodash from "lodash";'],
    ["ffi/x.ts", 'import { Engine } from "../src/worker/text/engine.ts";'],
    ["ffi/x.ts", 'import { planLength } from "../src/worker/text/backend.ts";'],
    ["src/http/x.ts", "if (wrong) process.exit(1);"],
    ["ffi/x.ts", 'const home = process.env["HOME"];'],
    ["src/sandbox/x.ts", 'import { PythonSessions } from "../exec/python.ts";'],
    ["src/agent/x.ts", 'import { Python } from "../exec/types.ts";'],
    ["ui/state/x.ts", 'import { limits } from "../../src/core/limits.ts";'],
    ["ui/view/x.ts", "element.innerHTML = text;"],
    ["ui/view/x.ts", 'await fetch("/v1/models");'],
    ["src/http/x.ts", 'import { h } from "preact";'],
    ["src/http/x.ts", 'import { App } from "../../ui/view/app.tsx";'],
    ["src/unknown/x.ts", 'import { a } from "../core/id.ts";'],
  ])("%s: %s", (file, source) => {
    expect(violations(new Map([[file, source]]))).toHaveLength(1);
  });

  test.each([
    ["src/worker/text/main.ts", 'import { LlamaBackend } from "../../../ffi/llama.ts";'],
    ["ffi/x.ts", 'import type { Backend } from "../src/worker/text/backend.ts";'],
    ["ui/state/x.ts", 'import type { Message } from "../../src/core/message.ts";'],
    ["src/http/x.ts", "// process.exit is for main.ts"],
    ["src/core/x.ts", 'import { randomBytes } from "node:crypto";'],
  ])("and this is none: %s: %s", (file, source) => {
    expect(violations(new Map([[file, source]]))).toEqual([]);
  });
});
