// Other names for models, by settings: exact ones and patterns (`claude-*`). Pure.

import type { Preset } from "../core/preset.ts";

/** Characters of a model's name that are matched with patterns of aliases. */
const ALIASED_NAME_CHARS_MAX = 512;

export interface ModelAlias {
  /** A name, or a pattern: `*` stands for any characters, `?` for one. */
  readonly name: string;
  /** Name that requests would send instead. */
  readonly model: string;
  /** Alias of one of the model's adapters. */
  readonly adapter?: string | undefined;
  /** Defaults of its requests. */
  readonly defaults?: Preset;
}

/** Target of an alias. */
export interface ModelAliases {
  /** The alias of exactly this name; undefined without one. */
  exact(name: string): ModelAlias | undefined;
  /** The same; otherwise the alias of the longest pattern that matches. */
  fitting(name: string): ModelAlias | undefined;
  /** Aliases that are not patterns and have an adapter or defaults: models of their own for clients. */
  assistants(): readonly ModelAlias[];
}

/** Whether an alias is a pattern. */
function isPattern(name: string): boolean {
  return /[*?]/.test(name);
}

/** Aliases by name. Of patterns of one length the first counts. */
export function modelAliases(aliases: readonly ModelAlias[]): ModelAliases {
  const exactOnes = new Map(aliases.filter(({ name }) => !isPattern(name)).map((one) => [one.name, one]));
  const patterns = aliases
    .filter(({ name }) => isPattern(name))
    .map((alias) => ({
      literals: alias.name.replaceAll("*", "").length,
      expression: expressionOf(alias.name),
      alias,
    }))
    .sort((a, b) => b.literals - a.literals);
  const exact = (name: string) => exactOnes.get(name);
  const assistants = [...exactOnes.values()].filter(
    ({ adapter, defaults }) => adapter !== undefined || defaults !== undefined,
  );
  return {
    exact,
    fitting: (name) => {
      const found = exact(name);
      if (found !== undefined || name.length > ALIASED_NAME_CHARS_MAX) return found;
      return patterns.find(({ expression }) => expression.test(name))?.alias;
    },
    assistants: () => assistants,
  };
}

function expressionOf(pattern: string): RegExp {
  const parts = pattern.split(/([*?])/).map((part) => {
    if (part === "*") return ".*";
    return part === "?" ? "." : RegExp.escape(part);
  });
  return new RegExp(`^${parts.join("")}$`, "su");
}
