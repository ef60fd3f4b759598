// Sources keep to the import table (scripts/imports.ts), and only named files use the process, clocks, I/O or the network.

import { describe, expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { dirname, join, relative } from "node:path";
import { IMPORT_RULES, type ImportRule, PACKAGE_RULES } from "../scripts/imports.ts";

const ROOT = join(import.meta.dir, "..");

interface Words {
  readonly pattern: RegExp;
  readonly what: string;
  readonly isAllowed: (file: string) => boolean;
}

const SCRIPTS = new Set(["src/build.ts"]);

/** Whose threads do not wait for each other: there a second hardware thread of a core, or one beyond the quota, costs little. */
const INDEPENDENT_THREADS = new Set([
  "src/worker/quantize.ts",
  "src/worker/text/main.ts",
  "src/sandbox/environment.ts",
]);

const WORDS: readonly Words[] = [
  {
    pattern: /\bavailableParallelism\b|\bhardwareConcurrency\b/,
    what: "the number of processors for compute threads, which get one usable core each (ffi/linux/usable-cores.ts)",
    isAllowed: (file) => file === "ffi/linux/usable-cores.ts" || INDEPENDENT_THREADS.has(file),
  },
  {
    pattern:
      /(?:new ServiceError\(\s*[\w".]+,|\bconst message =)\s*["'`](?:[A-Z][a-z]+ |(?:[^"'`]*[a-z)])?\. [A-Z][a-z]+ |[^"'`]*[a-z)]\.["'`])/,
    what: "an error text with a capital or a full stop (CONTRIBUTING.md, Words)",
    isAllowed: (file) => !file.startsWith("src/") && !file.startsWith("ffi/"),
  },
  {
    pattern: /\bprocess\.exit\b/,
    what: "process.exit",
    isAllowed: (file) => ["src/main.ts", "src/entry.ts"].includes(file) || SCRIPTS.has(file),
  },
  {
    pattern: /\bAsyncLocalStorage\b|\basync_hooks\b/,
    what: "hidden arguments; pass the caller as a value (src/core/caller.ts)",
    isAllowed: (file) => file.startsWith("src/http/"),
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

function ruleOf(file: string): ImportRule | undefined {
  const fitting = IMPORT_RULES.filter(({ from }) => isWithin(file, from));
  return fitting.sort((a, b) => b.from.length - a.from.length)[0];
}

/** Why a file may not import something; undefined where it may. */
function objection(file: string, { target, isType }: Import): string | undefined {
  if (!target.startsWith(".")) {
    const name = packageOf(target);
    if (name.startsWith("node:")) return undefined;
    const places = PACKAGE_RULES[name] ?? [];
    return places.some((place) => isWithin(file, place)) ? undefined : `may not use ${name}`;
  }
  const rule = ruleOf(file);
  if (rule === undefined) return "has no rule: add its folder to scripts/imports.ts";
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

test("a file of core is shared: by two rooms at least, or by files of core", () => {
  const sources = readSources();
  const users = new Map<string, Set<string>>();
  for (const [file, source] of sources) {
    const [top = "", room = ""] = file.split("/");
    const own = top === "src" ? room : top;
    for (const { target } of importsOf(file, source)) {
      const path = relative(ROOT, join(ROOT, dirname(file), target));
      users.set(path, (users.get(path) ?? new Set()).add(own));
    }
  }
  const core = [...sources.keys()].filter((file) => file.startsWith("src/core/"));
  const lonely = core.filter((file) => {
    const rooms = users.get(file) ?? new Set();
    return rooms.size < 2 && !rooms.has("core");
  });
  expect(lonely).toEqual([]);
});

test("every rule is about files that exist", () => {
  const paths = [...readSources().keys()];
  expect(IMPORT_RULES.filter(({ from }) => !paths.some((path) => isWithin(path, from)))).toEqual([]);
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
    ["src/worker/text/engine.ts", 'import { LlamaBackend } from "../../../ffi/llama/llama.ts";'],
    ["src/worker/image/x.ts", 'import { Engine } from "../text/engine.ts";'],
    ["src/worker/x.ts", 'import { spawnEngine } from "../engine/host.ts";'],
    ["src/http/routes/x.ts", 'import { Models } from "../../engine/models.ts";'],
    ["src/cli/x.ts", 'import "../http/server.ts";'],
    ["src/engine/x.ts", 'import { Type } from "@sinclair/typebox";'],
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
    ["src/app/x.ts", 'import { availableParallelism } from "node:os";'],
    ["src/unknown/x.ts", 'import { a } from "../core/id.ts";'],
    ["src/engine/x.ts", 'throw new ServiceError("engine_failed", "The engine died");'],
    ["src/engine/x.ts", "const message = `${name} is full. Try again later`;"],
    ["src/engine/x.ts", 'throw new ServiceError(code, "it is empty; send text.", { param });'],
  ])("%s: %s", (file, source) => {
    expect(violations(new Map([[file, source]]))).toHaveLength(1);
  });

  test.each([
    ["src/worker/text/main.ts", 'import { LlamaBackend } from "../../../ffi/llama/llama.ts";'],
    ["ffi/x.ts", 'import type { Backend } from "../src/worker/text/backend.ts";'],
    ["ui/state/x.ts", 'import type { Message } from "../../src/core/message.ts";'],
    ["src/http/x.ts", "// process.exit is for main.ts"],
    ["src/core/x.ts", 'import { randomBytes } from "node:crypto";'],
  ])("and this is none: %s: %s", (file, source) => {
    expect(violations(new Map([[file, source]]))).toEqual([]);
  });
});
