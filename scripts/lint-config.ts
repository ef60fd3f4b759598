// The generated part of .oxlintrc.json: numbers of the style, and the import table as `no-restricted-imports`. All else in
// that file is written by hand and kept. The linter warns while one types; test/boundaries.test.ts is the authority.

import { dirname, join, posix } from "node:path";
import { IMPORT_RULES, type ImportRule, PACKAGE_RULES } from "./imports.ts";
import { STYLE } from "./style.ts";

const ROOT = join(import.meta.dir, "..");

interface Override {
  readonly files: readonly string[];
  readonly rules: Readonly<Record<string, unknown>>;
}

interface LintConfig {
  readonly rules: Readonly<Record<string, unknown>>;
  readonly overrides: readonly Override[];
}

/** `.oxlintrc.json` with its generated parts as the tables have them. */
export function lintConfig(current: string): string {
  const config = JSON.parse(current) as LintConfig; // a file of this repository
  const own = config.overrides.filter(({ rules }) => !("no-restricted-imports" in rules));
  const overrides = [...own, ...IMPORT_RULES.toSorted(byLength).flatMap(overridesOf)];
  const next = { ...config, rules: { ...config.rules, ...styleRules() }, overrides };
  const entries = Object.entries(next).map(([key, value]) => `  "${key}": ${rowPerItem(value)}`);
  return `{\n${entries.join(",\n")}\n}\n`;
}

/** JSON with one line for each item of a list or an object. */
function rowPerItem(value: unknown): string {
  if (Array.isArray(value))
    return `[\n${value.map((item) => `    ${JSON.stringify(item)}`).join(",\n")}\n  ]`;
  const rows = Object.entries(value as object).map(([key, item]) => `    "${key}": ${JSON.stringify(item)}`);
  return `{\n${rows.join(",\n")}\n  }`;
}

function styleRules(): LintConfig["rules"] {
  const ignored = { skipBlankLines: true, skipComments: true };
  return {
    "max-lines": ["error", { max: STYLE.fileLines, skipBlankLines: true }],
    "max-lines-per-function": ["error", { max: STYLE.functionLines, ...ignored }],
    "max-params": ["error", { max: STYLE.parameters }],
    "max-depth": ["error", { max: STYLE.nesting }],
  };
}

/** The last override that matches a file holds, so the most exact comes last. */
function byLength(a: ImportRule, b: ImportRule): number {
  return a.from.length - b.from.length;
}

/** One override for each depth of a folder, as patterns of imports are relative to the file. */
function overridesOf(rule: ImportRule): readonly Override[] {
  const isFolder = rule.from.endsWith("/");
  if (!isFolder) return [override(rule, rule.from, dirname(rule.from), "../")];
  return depthsOf(rule.from).map((depth) => {
    const folder = `${rule.from}${"*/".repeat(depth)}`;
    return override(rule, `${folder}*.{ts,tsx}`, posix.normalize(folder), "../".repeat(depth + 1));
  });
}

/** `outside`: how an import begins that leaves the rule's own folder. */
function override(rule: ImportRule, files: string, folder: string, outside: string): Override {
  const toPattern = (place: string): string => {
    const path = posix.relative(folder, place);
    return place.endsWith("/") ? `${path}/**` : path;
  };
  // oxlint cannot forbid the values of a file whose types another pattern admits: where values of other folders are admitted
  // too, the linter admits both.
  const isTypesOnly = rule.may.length === 0 && rule.types !== undefined;
  const admitted = isTypesOnly ? [] : [...rule.may, ...(rule.types ?? [])].map(toPattern);
  const group = [
    `${outside}**`,
    ...admitted.filter((path) => path.startsWith("../")).map((path) => `!${path}`),
  ];
  const forbidden = Object.entries(PACKAGE_RULES).filter(
    ([, places]) => !places.some((place) => place.startsWith(rule.from) || rule.from.startsWith(place)),
  );
  const patterns = [{ group, ...(isTypesOnly ? { allowTypeImports: true } : {}) }];
  const paths = forbidden.map(([name]) => name);
  return { files: [files], rules: { "no-restricted-imports": ["error", { paths, patterns }] } };
}

function depthsOf(folder: string): readonly number[] {
  const files = [...new Bun.Glob("**/*.{ts,tsx}").scanSync(join(ROOT, folder))];
  return [...new Set(files.map((file) => file.split("/").length - 1))].sort((a, b) => a - b);
}
